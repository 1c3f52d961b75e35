/** Orders, deliveries and money: thirty abilities, many of which differ by a verb or an object only. */
export const COMMERCE = `
cancel_order | Cancels an order before it ships
en: cancel the order I placed this morning / I don't want those headphones any more, stop the order / please call off my purchase before it goes out / how do I undo an order I just made / changed my mind about the sofa, don't send it / withdraw order 4471 / I bought the wrong thing, can you void it / scrap what I ordered a minute ago
zh: 我刚下的订单不要了 / 帮我把昨天那单取消掉 / 买错了，别发货了 / 怎么撤销还没发出的订单 / 不想要了，把单子撤了吧
change_order | Changes items or quantities of an order
en: make that three boxes instead of two / can I swap the blue one for green before it ships / add a charger to the order I made earlier / I need to edit my basket after checkout / replace the large with a medium on order 90 / update the number of chairs in my purchase / take one item off my order but keep the rest / I'd like to modify what I bought
zh: 订单里的数量改成三件 / 下单后想换个颜色 / 在原来的订单上加一个充电器 / 能修改已经提交的订单内容吗 / 把其中一件去掉，其余照发
track_order | Tells where a parcel is now
en: where's my package / has my stuff left the warehouse yet / when will the kettle get here / follow shipment AX99 for me / my delivery is late, what's its location / is the courier close by / give me the latest on my parcel / check how far along the delivery is
zh: 我的快递到哪了 / 包裹什么时候能送到 / 查一下物流信息 / 货怎么还没到，现在在哪个城市 / 快递员离我还有多远
order_history | Lists earlier orders
en: what did I buy last year / show me everything I've purchased since May / list my past orders / pull up my old shopping records / which toner did I get the previous time / how many times have I ordered from you / find the order from my birthday two years ago / I want to look through previous purchases
zh: 我去年都买过什么 / 列出以前的订单 / 查一下历史购买记录 / 上次买的是哪一款墨盒 / 我一共下过多少单
reorder | Places an earlier order again
en: order the same coffee beans again / repeat my last purchase / buy that shampoo one more time / get me another of what I had in March / same groceries as last week please / restock the paper towels like before / duplicate order 311 / I'm out of filters, send more of the usual
zh: 再买一份上次的咖啡豆 / 照上周的单子再来一次 / 把那瓶洗发水再下一单 / 纸巾用完了，老样子补货 / 重复我最近的一笔订单
product_availability | Tells whether a product is in stock
en: do you have the red mug in stock / is size 42 sold out / when will the console be back on shelves / how many of the oak tables are left / can I still get last season's jacket / check inventory for the mini fridge / is this lamp available in the Leeds shop / any more of those limited sneakers
zh: 红色杯子还有货吗 / 四十二码是不是卖完了 / 游戏机什么时候补货 / 这款桌子还剩几张 / 门店有现货吗
product_compare | Compares two or more products
en: which is better, the X200 or the X300 / what's the difference between these two vacuums / compare the cheap laptop with the pro one / side by side of your top three phones / how does the oak desk stack up against the pine / should I choose the wool or the cotton blanket / differences among your coffee makers / pros and cons of each model
zh: 这两款吸尘器有什么区别 / 入门版和专业版哪个更好 / 对比一下三款手机 / 羊毛毯和棉毯怎么选 / 两个型号各有什么优缺点
price_match | Matches a lower price seen elsewhere
en: I saw this cheaper at another store / will you beat the price on amazon / the shop next door sells it for ten less, can you do the same / match a competitor's offer / do you honour lower prices from rivals / it's on sale elsewhere, adjust yours / found the identical tv for less online / can I get the lower price I found
zh: 别家卖得更便宜，能按那个价吗 / 你们保证最低价吗 / 隔壁店少十块，可以跟价吗 / 同款电视网上更便宜，给我补个差吧 / 能不能和竞争对手一个价
apply_coupon | Applies a discount code
en: my promo code isn't going through / use voucher SPRING10 on my cart / where do I enter the discount code / can I combine two coupons / the coupon says expired, why / redeem this offer code for me / take ten percent off with my voucher / I got a code by mail, how does it work
zh: 优惠码用不了 / 在哪里填折扣码 / 两张优惠券能一起用吗 / 帮我用这张代金券 / 优惠券显示过期是怎么回事
gift_card_balance | Tells what is left on a gift card
en: how much is left on my gift card / check the remaining value of card 8812 / does my gift voucher still have money on it / what's the balance of the present card I received / is there anything on this gift card / gift card funds remaining / can you see how many dollars my gift card holds / I used part of a gift card, what's left
zh: 礼品卡里还剩多少钱 / 查一下礼品卡余额 / 我的购物卡还有钱吗 / 收到的礼卡面值是多少 / 用了一部分的礼品卡还能花多少
change_address | Changes the address of a delivery
en: ship it to my office instead / I moved, deliver to the new flat / I typed the wrong street on my delivery / redirect the parcel to my neighbour / update where my order is going / the postcode on my shipment is incorrect / send the box to my parents' place rather than mine / can the destination still be altered
zh: 收货地址写错了，改一下 / 我搬家了，寄到新家 / 改送到公司吧 / 包裹能转寄到邻居家吗 / 派送地址的邮编不对
schedule_delivery | Sets the day and time of a delivery
en: can it arrive on Saturday morning / I'm only home after six, pick that slot / reschedule the drop-off to next Tuesday / choose a time window for my fridge to be brought / have the driver come later in the day / postpone delivery until I'm back from holiday / book a delivery slot / I'd rather get it the day after
zh: 能周六上午送吗 / 我六点以后才在家，约那个时间 / 改到下周二配送 / 等我度假回来再送 / 选一个送货时段
delivery_cost | Tells what shipping costs
en: how much is shipping to Norway / do I pay for delivery over fifty euros / what are the postage charges / is express more expensive / freight fee for a wardrobe / when is delivery free / cost of sending to an island / shipping price for two kilos
zh: 寄到挪威运费多少 / 满多少包邮 / 加急配送要加钱吗 / 大件家具的运费怎么算 / 两公斤的邮费是多少
pickup_point | Finds or sets a place to collect a parcel
en: can I collect it from a locker / which store near me can I pick up from / let me grab it at the post office / click and collect options / opening times of the collection point / leave it at the kiosk so I can fetch it / nearest parcel shop to my house / I'd rather pick it up myself
zh: 可以放快递柜自取吗 / 附近哪家门店能提货 / 我想自己去取 / 离我最近的自提点在哪 / 自提点几点关门
missing_parcel | Handles parcels marked delivered that never came
en: it says delivered but nothing's here / my package was stolen from the porch / tracking shows handed over, I never got it / the parcel vanished / someone signed for my box and it wasn't me / lost in the mail for three weeks / proof of delivery is wrong, I have no package / my shipment disappeared
zh: 显示已签收但我没收到 / 包裹丢了怎么办 / 门口的快递被人拿走了 / 不是我签的字，东西在哪 / 三个星期了，寄丢了吧
return_item | Starts the return of a bought item
en: I'd like to send these shoes back / how do I return something / print a return label for the dress / what's the procedure for bringing back an item / it doesn't fit so it's going back to you / arrange a courier to take back the monitor / can unopened goods be returned / start a return for order 552
zh: 我要退货 / 鞋子不合脚想退回去 / 退货流程是怎样的 / 帮我打一张退货单 / 没拆封的可以退吗
exchange_item | Exchanges a bought item for another
en: swap this shirt for a bigger size / I got black but want it in white instead, exchange it / trade the faulty one for a working unit / can I change my shoes for another pair I already have at home / replace the one I received with a different model / I want the same jacket, just smaller, in return for this one / do you do exchanges / give me a new one in place of this
zh: 换个大一码的 / 收到黑色的，想换成白色 / 坏的这个给我换一台好的 / 可以换货吗 / 把收到的换成别的型号
refund_status | Tells how far a refund has come
en: when will I get my money back / my refund hasn't shown up / did you process the reimbursement for the return / it's been ten days since I sent it back and no cash / check on refund 7781 / how long until the repayment hits my card / was the refund issued yet / still waiting for you to credit me
zh: 退款什么时候到账 / 十天了钱还没退回来 / 查一下退款进度 / 退款到我卡里要多久 / 你们把钱退了吗
warranty_claim | Handles defects under warranty
en: the screen died after two months, is that covered / my blender broke within the guarantee / make a warranty claim for the drill / does the guarantee include water damage / repair my watch for free, it's under warranty / the zip failed and I have a five year guarantee / file a claim for a defective heater / how long is the warranty good for
zh: 用了两个月屏幕坏了，保修吗 / 还在保修期，免费修一下 / 进水算不算质保范围 / 质保有多久 / 给电钻申请保修
product_setup | Explains how to assemble or set up a product
en: how do I put this shelf together / steps to connect the speaker / my new router, how to get it going / instructions for mounting the tv / which screw goes where / the manual for the bike is missing, help me build it / how do I pair the remote / walk me through first time setup
zh: 这个书架怎么组装 / 音箱怎么连接 / 新路由器怎么设置 / 电视挂墙的步骤 / 说明书丢了，怎么安装
pay_invoice | Pays an invoice or a bill
en: settle invoice 2093 / pay the electricity bill from my account / I want to pay what I owe the plumber / clear the outstanding bill / transfer the amount on this invoice / take care of my phone bill please / pay the supplier for last month / submit payment for the water charges
zh: 把这张账单付了 / 交一下电费 / 付清上个月供应商的款 / 帮我缴话费 / 支付编号2093的发票
request_invoice | Issues or sends an invoice or receipt
en: I need a receipt for my taxes / send the invoice for order 61 to accounting / could you issue a bill with our company name / where can I download the proof of purchase / vat invoice please / my expense report needs a receipt / email me a copy of the invoice / the invoice has the wrong company on it, reissue it
zh: 给公司开张发票 / 发票能重开吗，抬头错了 / 电子收据在哪里下载 / 报销要用发票，发到邮箱 / 需要增值税专用发票
dispute_charge | Contests a charge
en: I never made this purchase on my statement / I was billed twice / there's a payment I don't recognise / contest the sixty dollar charge from yesterday / this transaction isn't mine / reverse a fraudulent charge / you overcharged me / why did you take money without asking, I object
zh: 账单上有一笔不是我花的 / 重复扣款了 / 我要对这笔消费提出异议 / 有人盗刷了我的卡消费 / 多收了我的钱
payment_methods | Tells or changes how one can pay
en: do you take paypal / can I pay in cash / which cards are accepted / add my new card as the way to pay / remove the expired visa from my profile / is bank transfer possible / switch to paying by direct debit / does the shop support apple pay
zh: 支持微信支付吗 / 可以付现金吗 / 能刷哪些卡 / 添加一张新卡作为付款方式 / 可以银行转账吗
installment_plan | Arranges payment in instalments
en: can I pay for the bike over six months / split the cost into parts / is there monthly financing / I'd like to spread payments for the laptop / what's the interest when paying in stages / buy now pay later options / four equal payments please / set up instalments
zh: 可以分期付款吗 / 分六个月付要多少利息 / 电脑想按月付 / 有没有先买后付 / 分四期
subscription_cancel | Ends a subscription
en: stop my monthly box / I don't want to renew my membership / end the premium plan / unsubscribe me from the paid service / terminate my streaming contract / how do I get out of the yearly plan / quit the gym app subscription / don't bill me next month, I'm leaving
zh: 不想续会员了 / 取消每月的订阅 / 关掉自动续费 / 终止高级套餐 / 怎么退订付费服务
subscription_upgrade | Changes to another plan
en: move me to the family plan / I want more storage, what tier is next / switch from basic to pro / downgrade to the cheap package / upgrade my membership / can I change plans mid month / get the bigger plan with more seats / go from monthly to yearly
zh: 升级到家庭套餐 / 从基础版换成专业版 / 想降到便宜的套餐 / 月付改成年付 / 空间不够，换大一档的方案
loyalty_points | Tells or spends loyalty points
en: how many points do I have / use my miles to get a discount / when do my rewards expire / my last shop didn't earn any points / redeem stars for a free drink / what can I get with 2000 bonus points / transfer my points to my wife / points missing from my account
zh: 我有多少积分 / 积分能抵多少钱 / 积分什么时候过期 / 上次消费没有积分 / 用积分换礼品
store_hours | Tells opening hours and places of shops
en: are you open on Sunday / what time does the Main Street branch close / when do you open tomorrow / holiday opening times / where is your closest store / is the downtown shop still open now / address of the outlet / do you shut for lunch
zh: 星期天营业吗 / 市中心店几点关门 / 明天几点开门 / 最近的门店地址 / 节假日开不开
complaint | Takes a complaint about service
en: your driver was incredibly rude / I'm fed up with how I've been treated / I want to speak to a manager about this / this is the worst service ever / nobody called me back for the third time / let me file a formal grievance / I've been on hold for an hour, unacceptable / the clerk insulted me
zh: 服务态度太差了，我要投诉 / 叫你们经理来 / 等了一个小时没人理 / 已经是第三次没人回电话了 / 店员骂我，我很生气
`;

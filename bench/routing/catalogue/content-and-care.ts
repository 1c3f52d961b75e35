/** Content pipelines, law, health, learning and buildings: thirty abilities. */
export const CONTENT_AND_CARE = `
summarize_text | Summarises texts
en: give me the gist of this article / shorten these minutes to five points / what does the report say in brief / tl;dr of the thread / condense the chapter / key takeaways from the interview / I have no time to read it, sum it up / boil this memo down
zh: 概括一下这篇文章 / 会议纪要压缩成五点 / 报告讲了什么 / 没时间看，总结一下 / 提炼采访的要点
translate_text | Translates
en: how do you say cheese in Polish / put this letter into German / translate the menu / what does merci mean / turn my cv into Spanish / English version of this contract please / render this poem in French / I need these labels in Japanese
zh: 奶酪用波兰语怎么说 / 这封信翻成德语 / 翻译菜单 / 合同要英文版 / 这个法语单词什么意思
proofread_text | Corrects language
en: check my spelling / are there mistakes in this email / fix the grammar of my essay / is this comma right / correct the typos on the flyer / polish the language of my application / does this sentence sound native / look over my text for errors
zh: 检查错别字 / 这封邮件语法对吗 / 改一下作文的病句 / 标点用得对不对 / 这句话地道吗
rewrite_tone | Rewrites a text in another tone
en: make this email friendlier / say it more formally / this sounds too harsh, soften it / rewrite for children / turn my rant into something polite / simpler words please for this paragraph / give my letter a confident voice / same text, but funnier
zh: 邮件语气友好一点 / 说得正式些 / 太冲了，委婉一点 / 改写成孩子能懂的 / 这段话写得幽默一点
write_email | Drafts emails and letters
en: draft a reply to the landlord / write to the client that we're late / compose an invitation to the summer party / letter of resignation please / answer Anna that I can't come / message thanking the team / an apology mail to the customer / write a cover note for the offer
zh: 给房东写封回信 / 写邮件告诉客户要延期 / 起草夏日聚会的邀请 / 写辞职信 / 给客户写道歉信
blog_write | Writes articles
en: an article on saving water / write a post about our new office / eight hundred words on remote work / blog entry for the product launch / produce a how to piece about composting / opinion column on tipping / outline a long read on batteries / guest post about yoga
zh: 写一篇节水的文章 / 博客介绍新办公室 / 八百字谈远程办公 / 为新品发布写篇稿子 / 写一篇堆肥教程
social_post | Writes posts for social media
en: a tweet about our sale / caption for this photo / linkedin update on my new job / hashtags for the bakery / instagram story text for the event / something catchy for facebook / thread announcing the beta / reply to the comment under our video
zh: 发条微博宣传促销 / 给照片配文案 / 写条朋友圈 / 面包店用什么话题标签 / 回复视频下面的评论
ad_copy | Writes advertisements
en: slogan for a toothpaste / headline for the search ad / text for a billboard on trams / write a radio spot / three variants of the banner copy / sell this mattress in one line / call to action for the landing page ad / tagline for our bank
zh: 给牙膏想个广告语 / 搜索广告的标题 / 写一段电台广告 / 横幅文案来三版 / 一句话卖床垫
product_description | Writes product descriptions
en: describe this vase for the shop / listing text for a used bike / catalogue entry for the oak table / write what the jacket is made of for the web page / bullet points for the blender on the marketplace / copy for our product page / descriptive text for item 778 / features paragraph for the tent
zh: 给花瓶写商品介绍 / 二手自行车的上架文字 / 橡木桌的目录说明 / 搅拌机的卖点列表 / 商品详情页文案
seo_keywords | Finds search keywords and improves ranking
en: what do people search for about candles / keywords for my dental site / why don't we rank on google / meta description for the home page / improve the page for search engines / which terms bring traffic / title tags for the shop / search volume for running shoes
zh: 蜡烛相关大家搜什么 / 牙科网站用什么关键词 / 为什么搜索排名低 / 首页的元描述 / 优化页面让搜索引擎收录
image_generate | Makes pictures
en: draw a fox in watercolour / picture of a city at night / make a logo for the club / illustration for a children's story / create a banner image with mountains / paint my dog as a king / icon set for the app / render a kitchen with green tiles
zh: 画一只水彩狐狸 / 生成城市夜景图 / 给社团做标志 / 童话插图 / 画一个绿色瓷砖的厨房
image_edit | Edits pictures
en: remove the background of this photo / crop it to a square / make the sky bluer in my shot / erase the man on the left / sharpen this blurry picture / resize the images to 800 pixels / restore the old family photograph / put text on this jpeg
zh: 照片去掉背景 / 裁成正方形 / 把左边的人抹掉 / 模糊的图变清晰 / 老照片修复
video_edit | Edits videos
en: cut the first ten seconds of the clip / add captions to my recording / join these two movies / make a short from the webinar / speed up the middle part / blur the faces in the footage / put music under the film / stabilise the shaky video
zh: 剪掉片头十秒 / 给视频加字幕 / 两段影片合并 / 给人脸打码 / 视频配上音乐
transcribe_audio | Turns speech into text
en: type out this voice memo / transcript of the board call / what is said in the recording / turn the podcast into text / write down the interview from the mp3 / subtitles text from this speech audio / dictation to document / who said what in the meeting recording
zh: 录音转成文字 / 会议录音整理成稿 / 播客转写 / 采访音频写下来 / 语音备忘录打成字
document_extract | Takes fields out of documents
en: read the totals from these scanned bills / get the names out of the pdf forms / extract the table on page 4 / which iban is on this letter / pull dates and parties from the contract / digitise the paper questionnaires / capture the fields of the passport scan / turn receipts into rows
zh: 从扫描账单里读出金额 / 提取表单里的姓名 / 把第四页的表格抓出来 / 合同里的日期和双方摘出来 / 护照扫描件录入
document_search | Finds documents
en: where is the travel policy / find the slides from the kickoff / which file mentions project Falcon / look up our brand guidelines / locate the signed contract with Acme / search the wiki for vacation rules / the pdf about pricing, I can't find it / show documents by Petra from May
zh: 差旅制度在哪 / 找启动会的幻灯片 / 哪个文件提到了猎鹰项目 / 品牌规范在哪看 / 搜一下签好的合同
contract_review | Reviews contracts
en: is this clause risky / check the nda before I sign / what are the termination terms in the lease / compare the supplier agreement with our template / flag unusual liability wording / can they raise the price under this contract / review the terms of employment / who owns the work according to the agreement
zh: 这个条款有风险吗 / 签之前看看保密协议 / 租约的解约条件是什么 / 和我们的模板比一比 / 合同里责任写得合理吗
contract_draft | Drafts contracts
en: write an nda for a freelancer / prepare a lease for my flat / I need a sales agreement / draft terms and conditions for the web shop / put together a loan contract between friends / make an employment contract for Jo / create a licensing agreement / standard contract for consulting
zh: 起草一份保密协议 / 写房屋租赁合同 / 准备销售协议 / 网店的服务条款 / 拟一份劳动合同
legal_advice | Answers questions of law
en: my landlord keeps the deposit, what are my rights / can I be fired while ill / is it legal to record calls / how do I contest a parking fine / neighbour's tree over my fence, who is right / what happens if I break a non compete / do I have to testify / how long can they keep suing me
zh: 房东不退押金怎么办 / 生病期间能被辞退吗 / 录音合法吗 / 罚单怎么申诉 / 邻居的树伸到我家，法律怎么说
privacy_request | Answers requests about personal data
en: what data do you hold on me / erase my personal information / I withdraw my consent / stop sharing my details with partners / gdpr copy of my records / who has seen my file / correct my date of birth in your systems / don't track me
zh: 你们存了我哪些数据 / 删除我的个人信息 / 撤回同意 / 不要把我的资料给第三方 / 更正系统里的生日
compliance_check | Checks whether something obeys rules
en: may we accept this gift from a supplier / does the ad meet regulations / is the new vendor on a sanctions list / audit this process against iso / are we allowed to store cards like this / does our packaging follow eu rules / policy breach or fine, this payment / check the campaign for compliance
zh: 供应商的礼物能收吗 / 广告合规吗 / 新供应商在制裁名单上吗 / 这样存卡号符合规定吗 / 包装符合法规吗
symptom_check | Judges symptoms
en: I have a rash and fever / my chest feels tight / is it a cold or the flu / headache for three days, should I worry / my toddler's ear hurts / dizzy when I stand up / what could cause a swollen ankle / sore throat since yesterday
zh: 起疹子还发烧 / 胸口闷 / 头疼三天了要紧吗 / 孩子耳朵疼 / 站起来头晕
doctor_appointment | Makes doctors' appointments
en: I need to see a dermatologist / book a check up with Dr Wu / cancel my slot at the dentist's practice / earliest appointment for my knee / is the paediatrician free on Friday / reschedule my eye exam / get me a consultation with a surgeon / vaccination appointment please
zh: 挂皮肤科 / 约吴医生体检 / 取消牙医的预约 / 儿科周五有号吗 / 改眼科检查的时间
prescription_refill | Renews prescriptions
en: I'm out of my blood pressure tablets / renew my inhaler / send the recipe for insulin to the pharmacy / refill number 5520 / are my pills ready for pickup / need another month of the medicine / can my doctor prescribe the cream again / my prescription ran out
zh: 降压药吃完了，再开一些 / 续开吸入剂 / 处方发到药房 / 药配好了吗 / 再开一个月的药
medication_info | Tells about medicines
en: can I take ibuprofen with alcohol / side effects of the new tablets / how many paracetamol a day / is this drug safe in pregnancy / do these two medicines interact / before or after meals, the antibiotic / what is metformin for / I missed a dose, what now
zh: 布洛芬能和酒一起吃吗 / 这药有什么副作用 / 一天最多吃几片 / 孕妇能用吗 / 抗生素饭前还是饭后
fitness_coach | Plans exercise
en: a workout for my back / how do I train for ten kilometres / exercises without equipment / make me a weekly gym plan / am I doing squats right / stretching after running / how to gain muscle / lose my belly by moving more
zh: 练背的动作 / 十公里怎么训练 / 不用器械的锻炼 / 每周健身计划 / 跑步后怎么拉伸
homework_help | Helps with school work
en: solve x squared minus 4 / explain photosynthesis / when was the battle of Hastings / help with my chemistry exercise / what is a metaphor / I don't get fractions / quiz me on capitals / how do I prove this triangle thing
zh: 解这个方程 / 讲讲光合作用 / 化学作业不会 / 分数怎么算 / 考考我各国首都
event_plan | Plans events
en: organise a farewell party / venue for eighty people / budget for our conference / who's coming to the gala / find a caterer for the wedding / agenda for the offsite / book a band for the summer fest / seating plan for the dinner
zh: 办一个欢送会 / 找能坐八十人的场地 / 大会预算怎么做 / 婚礼找餐饮 / 晚宴座位表
room_booking | Books meeting rooms and desks
en: reserve the big conference room at two / is any meeting room free now / desk for tomorrow on floor 3 / I need a quiet room for a call / release my room, we're done / room with a projector for twelve / who has booked the aquarium / hot desk for Thursday
zh: 订两点的大会议室 / 现在有空会议室吗 / 明天三楼的工位 / 要带投影的房间 / 会议室不用了，释放掉
facility_issue | Takes reports of broken things in a building
en: the lift is stuck / toilet on floor 2 is blocked / a bulb is out in the corridor / it smells of gas in the basement / the coffee machine leaks / door 4 doesn't close / water is dripping from the ceiling / somebody spilled paint in the lobby
zh: 电梯卡住了 / 二楼厕所堵了 / 走廊灯坏了 / 地下室有煤气味 / 天花板漏水
`;

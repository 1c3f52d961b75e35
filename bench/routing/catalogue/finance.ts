/** Banking, insurance and people's affairs: thirty abilities with near neighbours. */
export const FINANCE = `
account_balance | Tells the balance of a bank account
en: how much money do I have / what's in my checking account / tell me my current funds / am I broke or can I afford rent / show the amount in savings / total in all of my accounts / did my balance drop under a hundred / my available cash at the bank
zh: 我账户里有多少钱 / 查一下余额 / 储蓄账户现在有多少 / 卡里的钱够付房租吗 / 所有账户加起来多少
transfer_money | Sends money between accounts
en: move fifty from savings to checking / send my sister 200 dollars / wire money to Spain / pay Tom back for dinner / transfer rent to my landlord / shift some cash to my other account / make a standing order to mum every month / put 30 into Ben's account
zh: 转两百块给我妹妹 / 从储蓄转五十到活期 / 给房东打房租 / 汇款到西班牙 / 每月固定给妈妈转钱
transaction_list | Lists recent transactions
en: what did I spend at restaurants this month / show my last five payments / list debits since Friday / when did my salary come in / look up the purchase at the pharmacy / where has my money been going / recent activity on my card / print my statement for June
zh: 最近五笔交易 / 这个月吃饭花了多少 / 工资哪天到账的 / 六月的流水 / 我的钱都花到哪去了
card_block | Blocks a card
en: freeze my debit card / I lost my wallet, stop the card / my credit card got stolen / put a hold on my visa / lock the card until I find it / disable my bank card right now / somebody took my purse, block everything / cancel the card that's gone missing
zh: 银行卡丢了，马上冻结 / 挂失信用卡 / 钱包被偷了，停用我的卡 / 先把卡锁住 / 卡找不到了，别让人刷
card_replace | Orders a new card
en: my card is cracked, send another / request a replacement debit card / the chip doesn't work any more / I need a new card with my married name / how long until the new plastic arrives / order a fresh credit card for me / mine expires soon, will I get another / the strip is worn out, I want a substitute
zh: 卡断了，补一张新的 / 芯片读不出来，换卡 / 信用卡快到期了，会寄新的吗 / 新卡多久能到 / 改了名字要换一张卡
card_pin | Changes or recovers the PIN of a card
en: I forgot the four digits for my card / change my pin / reset the number I type at the cash machine / what is my pin code / too many wrong attempts at the atm, pin locked / pick a new secret number for my card / unblock my pin / how do I set the code for my new card
zh: 忘了银行卡密码 / 修改取款密码 / 密码输错太多次被锁 / 新卡的密码怎么设 / 重置卡的数字密码
card_limit | Tells or changes the limit of a card
en: raise my credit line / how much can I spend on my card / increase my daily withdrawal cap / what is my maximum for purchases / lower the spending limit for my son's card / I need a bigger limit for a trip / am I near my credit limit / cap my card at 500
zh: 提高信用额度 / 每天最多能取多少 / 我的卡限额是多少 / 出国要临时提额 / 把孩子的卡限制在五百以内
card_decline | Explains why a card was declined
en: why was my card refused at the shop / my payment got rejected but I have money / the terminal said declined / card not working online / they wouldn't accept my visa yesterday / I was embarrassed at the till, card didn't go through / what's wrong with my card / reason for the failed card payment
zh: 刷卡被拒是怎么回事 / 有钱为什么付不了 / 网上付款卡不能用 / 收银台说我的卡无效 / 昨天刷卡没通过
loan_apply | Takes an application for a loan
en: I want to borrow ten thousand for a car / apply for a mortgage / can I get credit to renovate / how do I take out a loan / start a personal loan request / would you lend to a student / need funds for a small business / am I eligible to borrow
zh: 想贷款买车 / 申请房贷 / 装修可以贷多少 / 怎么办个人贷款 / 小企业能借款吗
loan_payoff | Tells or pays what is owed on a loan
en: how much is left on my mortgage / pay off the car loan early / what do I still owe the bank / make an extra loan payment / when will my debt be cleared / is there a penalty for repaying ahead of time / final balance on my student loan / my next loan instalment, how high
zh: 房贷还剩多少 / 想提前还清车贷 / 提前还款有违约金吗 / 下期要还多少 / 我还欠银行多少钱
interest_rate | Tells interest rates
en: what do you pay on savings / current mortgage rates / apr of the gold card / how much interest do I earn / rate for a five year fixed deposit / which account gives the best yield / are rates going up / percentage on a personal loan
zh: 存款利率是多少 / 现在房贷利率 / 信用卡的年利率 / 五年定期给多少利息 / 哪个账户利息最高
exchange_rate | Converts currencies
en: how many yen for a dollar / convert 300 euros to pounds / what's the pound worth today / current rate dollars to rupees / if I change 50 francs what do I get / is now a good time to buy pesos / value of one bitcoin in usd / currency calculator please
zh: 一美元换多少日元 / 三百欧元等于多少英镑 / 今天人民币汇率 / 换五十瑞郎能拿多少 / 现在换外币合适吗
open_account | Opens a bank account
en: I want to become a customer / set up a new savings account / open a joint account with my husband / what do I need for a business account / create a bank account for my kid / start a checking account / sign me up for a current account / can a foreigner get an account
zh: 我想开个账户 / 给孩子开一个储蓄账户 / 开公司账户要什么材料 / 外国人能开户吗 / 和丈夫开联名账户
close_account | Closes a bank account
en: I'm leaving your bank / shut down my savings account / terminate my account and send the rest / get rid of my old current account / how can I close an account I don't use / delete my bank account / my father died, close his account / no longer need the joint account
zh: 我要销户 / 关掉不用的账户 / 不在你们银行了，把户头注销 / 父亲去世了，注销他的账户 / 联名账户不要了
fraud_report | Takes reports of fraud
en: I think I fell for a scam / someone is pretending to be the bank on the phone / I got a phishing text / report suspicious activity / a stranger opened credit in my name / I gave my code to a caller, help / is this email from you real or fake / my identity has been stolen
zh: 我好像被骗了 / 有人冒充银行打电话 / 收到钓鱼短信 / 有人用我的名字贷款 / 我把验证码告诉别人了
insurance_quote | Quotes an insurance premium
en: how much to insure my house / price of car cover for a new driver / quote for travel insurance / what would pet insurance cost me / get me an estimate for life cover / is it cheaper to insure two cars / premium for a motorbike / I want coverage for my bike, what's the fee
zh: 给房子上保险多少钱 / 新手车险报价 / 旅行险要多少 / 宠物保险贵不贵 / 算一下寿险保费
insurance_claim | Takes an insurance claim
en: a tree fell on my roof, I need to claim / I crashed my car / file a claim for water damage / my luggage insurance, how do I get paid / someone broke into my flat, I'm insured / report an accident to the insurer / submit hospital bills to my policy / hail dented the bonnet
zh: 车撞了，要报保险 / 家里漏水申请理赔 / 被盗了，怎么找保险赔 / 医院的账单交给保险 / 冰雹砸坏了车
insurance_coverage | Tells what a policy covers
en: does my policy include theft / am I covered when driving abroad / is dental part of my plan / what does my home insurance pay for / will insurance take care of a rental car / does it cover floods / excess on my policy / are my parents included in my health plan
zh: 我的保险包括盗窃吗 / 国外开车保不保 / 医保含牙科吗 / 洪水在不在保险范围 / 自付额是多少
tax_question | Answers tax questions
en: can I deduct my home office / when is the tax return due / what bracket am I in / do I owe tax on a gift / how do I declare rental income / which form for freelancers / vat rate for books / am I getting anything back from the taxman
zh: 在家办公能抵税吗 / 报税截止到几号 / 租金收入怎么申报 / 赠与要交税吗 / 自由职业填哪张表
invest_advice | Advises on investments
en: should I buy index funds / where to put 5000 for ten years / are bonds safe / build me a portfolio / is it smart to hold gold / low risk ways to grow money / how do I start with shares / sell my stock or keep it
zh: 该不该买指数基金 / 五千块放十年怎么投 / 债券安全吗 / 怎么开始炒股 / 现在买黄金合适吗
payslip | Shows or explains payslips
en: send me my pay stub for May / why is my net wage lower this month / what is the deduction on my salary slip / download last year's payslips / when do we get paid / my overtime isn't on the pay slip / explain the codes on my wage statement / gross versus net on my pay
zh: 把五月的工资单发给我 / 这个月到手怎么少了 / 工资条上的扣款是什么 / 什么时候发工资 / 加班费没算进去
expense_claim | Takes expenses to be reimbursed
en: I paid for the client lunch, reimburse me / submit my train ticket for refund from the company / file travel costs / where do I upload receipts for the conference / claim mileage for driving to the customer / expense the hotel in Rome / get back what I spent on office supplies / has my expense report been approved
zh: 请客户吃饭的钱报销一下 / 提交出差费用 / 会议的票据在哪里上传 / 开车去客户那里的油费怎么报 / 报销单批了吗
leave_request | Requests time off
en: I want next Friday off / book two weeks holiday in July / apply for parental leave / can I take a day for moving house / put in for vacation / I need time away for a wedding / request unpaid leave / ask my boss for Monday free
zh: 下周五想请假 / 七月休两周年假 / 申请产假 / 搬家能请一天吗 / 我要请事假
leave_balance | Tells how much leave is left
en: how many vacation days do I have / remaining holiday this year / do unused days carry over / have I used up my leave / what is left of my time off / days off I can still take / did the two days in May get deducted from my holidays / my annual leave entitlement
zh: 我还剩几天年假 / 今年的假用完了吗 / 没休的假能留到明年吗 / 一年有多少天假 / 还能休几天
sick_leave | Reports sickness
en: I have the flu and won't come in / call in sick for me / my kid is ill, I must stay home / where do I send the doctor's note / I feel awful, can't work today / report that I'm unwell / off with a broken leg until June / throwing up, tell my team I'm out
zh: 我发烧了，今天不去上班 / 请病假 / 病假条交给谁 / 孩子病了要在家照顾 / 腿断了要休到六月
job_openings | Lists open positions
en: are you hiring designers / what roles are available in Berlin / internal vacancies / is there an internship / I'm looking for a position in sales / which teams are recruiting / current job ads / any remote jobs going
zh: 你们招设计师吗 / 有什么空缺职位 / 内部招聘信息 / 有实习机会吗 / 哪些部门在招人
candidate_screen | Screens applicants
en: rank these cvs for the analyst role / does this resume fit our job / shortlist the best applicants / read the applications and pick five / which candidate has kubernetes experience / check whether she meets the requirements / filter out people without a degree / score the cover letters
zh: 给这些简历排个名 / 这个候选人符合要求吗 / 从申请里挑五个 / 谁有相关经验 / 筛掉不合格的应聘者
interview_schedule | Arranges interviews with applicants
en: set up a call with the applicant for Thursday / find a time for the panel to meet the candidate / move her interview to the afternoon / invite Mr Lee to a second round / book interviewers for the developer position / the candidate can't make it, propose another slot / arrange a technical interview / confirm the interview with Ana
zh: 约候选人周四面试 / 把她的面试改到下午 / 安排第二轮面试 / 应聘者来不了，换个时间 / 确认技术面试的时间
onboarding | Guides new employees
en: it's my first day, what do I do / checklist for new starters / where do I get my badge and laptop / how do I enrol as a new hire / prepare everything for Marta who joins Monday / orientation schedule / documents I need before I begin / who shows me around next week when I start
zh: 第一天上班要做什么 / 新员工入职清单 / 工牌和电脑去哪领 / 入职前要准备什么材料 / 下周有新人来，帮忙准备
training_courses | Finds or books training
en: sign me up for the excel class / which courses can I take on leadership / is there a workshop about safety / mandatory compliance training link / I'd like to learn project management at work / when is the next first aid course / how much learning budget do I have / recommend a course for public speaking
zh: 报名表格软件的课 / 有没有领导力培训 / 下一期急救课什么时候 / 我有多少培训经费 / 想学项目管理
`;

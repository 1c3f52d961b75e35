/** Help with computers, running software and data: thirty abilities that share most of their vocabulary. */
export const TECHNOLOGY = `
password_reset | Resets a forgotten password
en: I can't remember my login / reset my password / the system won't take my password / send me a link to choose a new passphrase / locked out after too many tries / my password expired over the weekend / what do I do, I forgot the secret word for my email / get me back into my account
zh: 忘记密码了 / 登录密码重置一下 / 密码过期进不去 / 输错太多次账号被锁 / 发个找回密码的链接
two_factor | Sets up or repairs two-factor sign-in
en: my authenticator app is on my old phone / turn on two step verification / I don't receive the sms code / new phone, how do I move my login codes / lost my security key / disable the second factor / backup codes for signing in / the six digit code is rejected
zh: 收不到短信验证码 / 换手机了，动态口令怎么迁移 / 开启两步验证 / 安全密钥丢了 / 六位验证码总是不对
access_request | Grants access to systems or folders
en: I need permission for the finance drive / give Lea rights to the repository / can I get into the salesforce tool / add me to the project group / request admin rights on my laptop / remove Paul's access, he left / why does it say access denied on the shared folder / grant read rights to the contractor
zh: 申请财务盘的权限 / 给新同事开通代码库 / 共享文件夹打不开，说没权限 / 他离职了，收回权限 / 需要电脑的管理员权限
vpn_help | Solves trouble with VPN and remote access
en: the vpn keeps disconnecting / I can't reach the intranet from home / how do I connect remotely / tunnel won't establish at the hotel / install the vpn client / remote desktop is frozen / working from abroad, company network not available / error 619 when dialling in
zh: 在家连不上公司内网 / 虚拟专用网老是掉线 / 远程桌面卡住了 / 出差时怎么连公司网络 / 安装远程接入客户端
wifi_issue | Solves trouble with wireless networks
en: no internet in meeting room 4 / the wireless is super slow today / my laptop doesn't see the network / guest wifi password / connection drops every ten minutes / is the office network down / signal is weak at my desk / tablet refuses to join the wifi
zh: 会议室没有网 / 无线特别慢 / 笔记本搜不到信号 / 访客网络密码是多少 / 网络每十分钟断一次
printer_issue | Solves trouble with printers
en: paper jam on the second floor / the printer says offline / prints come out with stripes / out of toner / can't scan to my mailbox / how do I print double sided / add the new copier to my computer / nothing happens when I press print
zh: 打印机卡纸 / 打印出来有条纹 / 没墨粉了 / 怎么双面打印 / 扫描发不到邮箱
software_install | Installs or updates software
en: put photoshop on my machine / I need the newest version of office / how do I get visual studio / install a pdf editor for me / upgrade my operating system / license for the drawing tool please / roll back the last update, it broke things / get rid of the trial program
zh: 给我装一个修图软件 / 办公软件升级到最新版 / 申请绘图工具的许可证 / 系统怎么升级 / 卸载试用版
hardware_request | Orders computers and equipment
en: I need a second monitor / my mouse died, get me another / order a headset for the new colleague / laptop is five years old, replace it / a standing desk keyboard please / request a company phone / can I have a webcam / docking station for home
zh: 申请一台显示器 / 鼠标坏了要新的 / 电脑太旧了想换 / 给新同事买耳机 / 要一个扩展坞
slow_computer | Finds out why a computer is slow or crashes
en: my pc takes forever to boot / blue screen again / everything freezes when I open excel / the fan is loud and it crawls / laptop shuts off by itself / out of memory messages all day / computer hangs after login / why is my machine so sluggish
zh: 电脑开机特别慢 / 又蓝屏了 / 一打开表格就卡死 / 笔记本自己关机 / 风扇很响，反应迟钝
email_issue | Solves trouble with mail
en: my messages aren't going out / mailbox is full / I get no mail since noon / set up a signature in outlook / recover a message I deleted / too much spam in my inbox / create a distribution list for the team / attachments over 20 megabytes bounce
zh: 邮件发不出去 / 邮箱满了 / 中午以后收不到信 / 恢复删掉的邮件 / 垃圾邮件太多
deploy_service | Brings a release to an environment
en: ship build 214 to production / roll out the payment service to staging / release the new frontend tonight / push my branch to the test environment / promote the candidate to prod / start the deployment of api v3 / put the hotfix live / deploy to the eu region only
zh: 把新版本发到生产 / 支付服务上线到预发 / 今晚发布前端 / 热修复赶紧上线 / 部署到测试环境
rollback_release | Takes a release back
en: undo the last deployment / go back to the former version / revert production to build 213 / the release broke checkout, take it back / restore yesterday's version of the api / back out the change from tonight / return to the last good release / downgrade the gateway to 2.4
zh: 回滚刚才的发布 / 退回上一个版本 / 新版有问题，撤下来 / 恢复到昨天的版本 / 把网关降到旧版
restart_service | Restarts services or servers
en: bounce the web servers / restart the search node / kick the queue worker, it hangs / reboot machine db-3 / cycle all the pods / stop and start the scheduler / turn the cache off and on again / the daemon is stuck, relaunch it
zh: 重启搜索节点 / 队列进程卡住了，拉起来 / 把数据库机器重启一下 / 定时任务服务停了再启动 / 重启所有容器
scale_service | Changes how many instances run
en: add four more replicas / we expect a traffic spike, double the workers / scale down the night cluster / increase capacity of the checkout service / set the minimum pods to six / give the batch job more machines / too many idle servers, shrink / autoscaling limits for the api
zh: 再加四个副本 / 流量要涨，机器翻倍 / 晚上缩容 / 扩容结算服务 / 最少实例数设成六个
service_status | Tells whether systems are healthy
en: is the login system down / current outages / uptime of the api this month / are all the servers healthy / is something wrong with the database right now / status page please / anybody else seeing errors on checkout / health of the cluster
zh: 登录系统挂了吗 / 现在有故障吗 / 集群状态正常吗 / 本月可用率多少 / 数据库是不是有问题
incident_report | Opens or updates an incident
en: declare a sev one, customers can't pay / open an incident for the outage / page the person on call / add to the incident that search recovered / write up what happened last night / who is the incident commander / close incident 88, all fixed / raise an alarm, data is leaking
zh: 客户付不了款，拉一个一级故障 / 新建事故单 / 呼叫值班的人 / 更新事故进展 / 写一下昨晚的故障复盘
log_search | Searches logs
en: show errors from the auth service since 9 / grep for timeout in the gateway output / what did pod 7 print before it died / find the stack trace for request 55f / logs with status 500 last hour / how often does null pointer appear / look for user 42 in the audit trail / search the syslog for oom
zh: 查九点以后认证服务的报错 / 搜网关日志里的超时 / 找这个请求的堆栈 / 最近一小时的500日志 / 容器挂之前打印了什么
code_review | Reviews code changes
en: look over my pull request / is this diff safe to merge / review the changes on branch login-fix / comments on my commit please / find problems in this patch / does this function follow our guidelines / check my merge request for bugs / second pair of eyes on these edits
zh: 帮我看看这个合并请求 / 这个改动能合吗 / 审一下登录分支的代码 / 给我的提交提意见 / 这个补丁有没有问题
code_generate | Writes code from a description
en: write a python script that renames files / implement quicksort in go / generate a react form with three fields / I need a regex for phone numbers / code a function to parse dates / build a small rest endpoint / scaffold a new microservice / turn this pseudocode into java
zh: 写一个批量改名的脚本 / 用某种语言实现快速排序 / 生成一个带三个字段的表单 / 写个匹配手机号的正则 / 搭一个新服务的骨架
test_generate | Writes tests for code
en: write unit tests for the cart class / cover this function with edge cases / make a test plan for login / generate mock data for the checks / raise our coverage on the parser / add an integration test for checkout / which cases should I test here / end to end tests for signup
zh: 给购物车类写单元测试 / 补充边界用例 / 提高解析器的覆盖率 / 写登录的测试计划 / 给注册流程加端到端测试
bug_triage | Sorts and assigns bug reports
en: which team should fix this defect / is this bug a duplicate / set the severity of ticket 903 / assign the crash to mobile / label the new issues / prioritise the open bugs / this report lacks steps, send it back / who owns the problem with the calendar widget
zh: 这个缺陷该哪个组修 / 是不是重复的问题单 / 给新问题打标签 / 闪退分给移动组 / 把未解决的缺陷排优先级
sql_query | Answers questions by querying a database
en: how many users signed up in April by country / select the top ten customers by revenue / write a query joining orders and refunds / count the rows in the events table / average basket size per week from the warehouse / pull all accounts without an email from the db / turn this question into sql / which products have never been sold, ask the database
zh: 四月各国注册了多少用户 / 按收入查前十名客户 / 写一个联表查询 / 事件表有多少行 / 从库里找出没有邮箱的账号
dashboard_build | Builds charts and dashboards
en: plot sales per region as bars / I need a dashboard for support load / add a line for last year to the chart / visualise the funnel / pie chart of costs / make a live board with conversion and churn / draw a heat map of visits / show these numbers as a graph
zh: 按地区画销售柱状图 / 做一个客服负载看板 / 图上加去年的曲线 / 费用占比画成饼图 / 把漏斗可视化
forecast_metric | Predicts figures
en: what will revenue be next quarter / project the number of tickets for December / expected demand for umbrellas / predict churn for the coming months / when do we run out of disk space at this rate / estimate next year's headcount cost / sales outlook for Q4 / trend of sign ups continuing until summer
zh: 预测下季度收入 / 十二月工单会有多少 / 预计雨伞的需求 / 照这个速度磁盘什么时候满 / 估算明年的人力成本
anomaly_explain | Explains why a figure changed
en: why did traffic drop on Monday / what caused the spike in refunds / explain the dip in conversion / something odd with yesterday's numbers, what is it / reason for the jump in latency metrics last week / is the fall in orders significant / which segment drives the decline / find the outlier in these costs
zh: 周一流量为什么下降 / 退款激增是什么原因 / 解释一下转化率的下跌 / 昨天的数据不对劲 / 哪个人群导致了下滑
data_cleanup | Cleans data
en: remove duplicates from this customer list / the dates are in three formats, unify them / fill in missing postcodes / fix misspelled city names in the sheet / merge these two contact files / drop the empty rows / standardise the phone numbers / the csv has broken characters, repair it
zh: 客户名单去重 / 日期格式统一一下 / 补全缺失的邮编 / 合并两份通讯录 / 表格里的乱码修一下
data_export | Exports data to files
en: download all contacts as csv / export the report to excel / dump the customer table to a file / give me the raw numbers for my spreadsheet / save this view as pdf / send the monthly data to the ftp server / I want everything you have on our tickets in json / get the survey answers out of the system
zh: 所有联系人导出成表格 / 报表下载为文件 / 把客户表导出来 / 这个视图存成文档 / 把问卷答案取出来
backup_restore | Backs up or restores data
en: I deleted a folder, get it back / restore the database from last night / when was the last backup / take a snapshot before the upgrade / recover an older copy of my spreadsheet / are our files being backed up / bring back the wiki as of Monday / make a copy of the server in case it fails
zh: 误删了文件夹，恢复一下 / 用昨晚的备份恢复数据库 / 上次备份是什么时候 / 升级前做个快照 / 找回表格的旧版本
api_docs | Answers questions about an interface's documentation
en: which parameter limits the page size / how do I authenticate against your rest interface / example request for creating a user / what does error code 4012 mean in the api / rate limits of the endpoint / is there an sdk for ruby / which fields does the webhook send / where are the api docs
zh: 分页大小用哪个参数 / 接口怎么鉴权 / 创建用户的请求示例 / 接口返回码4012是什么意思 / 回调里有哪些字段
security_scan | Scans for weaknesses
en: check our dependencies for vulnerabilities / is this attachment malware / scan the web site for holes / are we affected by the new openssl flaw / find secrets committed to the repo / run a penetration check on the login / is this link dangerous / list the critical cves in our images
zh: 查一下依赖有没有漏洞 / 这个附件是不是病毒 / 扫描网站的安全问题 / 代码库里有没有泄露密钥 / 我们受新漏洞影响吗
`;

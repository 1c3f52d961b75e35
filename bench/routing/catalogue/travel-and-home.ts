/** Trips, calendars, houses and kitchens: thirty abilities of everyday assistants. */
export const TRAVEL_AND_HOME = `
book_flight | Books flights
en: get me on a plane to Lisbon Friday / two tickets from Oslo to Rome / I want to fly to Tokyo in May / cheapest way by air to Denver / reserve a window seat to Madrid / find a nonstop to Boston / one way ticket to Cairo tomorrow / business class to Singapore
zh: 订一张去上海的机票 / 五月想飞东京 / 两张往返罗马的票 / 找直飞的航班 / 明天单程去开罗
flight_status | Tells whether a flight is on time
en: is BA117 delayed / when does my plane land / which gate for the flight to Paris / has the Madrid flight left / arrival time of my mother's plane / is my departure still on schedule / why is flight 22 late / did they cancel the evening flight
zh: 航班晚点了吗 / 我妈的飞机几点到 / 去巴黎的在哪个登机口 / 飞机起飞了没有 / 晚上的航班取消了吗
change_flight | Changes or cancels a flight
en: move my flight to Sunday / I need an earlier plane home / cancel my ticket to Milan / switch me from the morning to the evening departure / fee for altering my air ticket / I missed my plane, rebook me / change the name on the flight booking / fly back two days later instead
zh: 机票改到周日 / 退掉去米兰的机票 / 误机了，帮我改签 / 换成晚上的航班 / 改签要多少钱
baggage | Answers questions about luggage
en: how many bags may I bring / my suitcase didn't arrive / can I carry a guitar on board / weight limit for checked luggage / liquids in hand baggage / fee for an extra bag / my luggage is damaged after the flight / size of a cabin trolley
zh: 可以带几件行李 / 箱子没到 / 托运限重多少 / 手提行李能带液体吗 / 行李箱摔坏了
book_hotel | Books hotels
en: I need a room in Vienna for three nights / find a place to stay near the station / hotel with a pool in Malta / reserve a double for the weekend / cheap accommodation in London / book us a suite by the sea / somewhere to sleep in Prague tonight / lodging that takes dogs
zh: 订维也纳三晚的房间 / 车站附近找个住的地方 / 带泳池的酒店 / 周末要一间双人房 / 能带狗的民宿
hotel_change | Changes or cancels a hotel stay
en: extend my stay by one night / cancel the room in Berlin / can I check in late / move my hotel reservation to June / I need twin beds instead of a double at the hotel / we're leaving the hotel a day early / is my room refundable / add breakfast to my stay
zh: 酒店多住一晚 / 取消柏林的房间 / 晚一点入住可以吗 / 酒店预订改到六月 / 提前一天退房
car_rental | Rents cars
en: hire a van for moving / I need wheels at the airport / rent a small car in Crete / extend my rental until Monday / is a second driver included / where do I drop off the hire car / automatic suv for a week / how old must I be to rent
zh: 租一辆面包车搬家 / 机场取车 / 租车延到周一 / 在哪里还车 / 租一周自动挡
train_ticket | Books trains
en: seats on the express to Munich / next train to the coast / rail pass for Italy / buy a ticket for the 9:14 / is there a sleeper to Vienna / which platform for Leeds / first class by rail tomorrow / change trains where when going to Bern
zh: 去广州的高铁票 / 下一班火车几点 / 有卧铺吗 / 在几站台上车 / 买明天一等座
visa_info | Tells about visas and passports
en: do I need a visa for Vietnam / how long is my passport valid for entry / papers to enter Canada / apply for a travel permit / can I stay ninety days in Japan / is a transit visa required in Dubai / passport renewal for a trip / entry rules for Brazil
zh: 去越南要签证吗 / 护照快到期能出境吗 / 入境加拿大需要什么材料 / 在日本能待多少天 / 转机要过境签吗
trip_plan | Plans trips
en: what to see in Porto in two days / make an itinerary for Japan / where should we go in autumn with kids / sights near Athens / plan a road trip through Scotland / things to do in Hanoi / a week in Peru, suggest a route / best beaches in Greece
zh: 波尔图两天怎么玩 / 做个日本行程 / 秋天带孩子去哪 / 雅典附近的景点 / 苏格兰自驾路线
calendar_add | Puts something into the calendar
en: put dentist on Tuesday at 3 / schedule lunch with Kim tomorrow / add mum's birthday to my calendar / block Friday afternoon for writing / set up a meeting with sales at ten / new event: concert on the 5th / pencil in a call with Ravi / make an appointment for the haircut
zh: 周二三点加上看牙 / 日历里记一下妈妈生日 / 明天约小金吃午饭 / 周五下午空出来写东西 / 十点和销售开会
calendar_query | Tells what is in the calendar
en: what's on today / am I free at four / when is my next meeting / do I have anything Saturday / who am I seeing tomorrow / how does my week look / what time is the review / is there a clash on Thursday
zh: 今天有什么安排 / 四点有空吗 / 下一个会几点 / 周六有事吗 / 明天要见谁
calendar_change | Moves or deletes calendar entries
en: push the review to next week / cancel my three o'clock / the lunch moves to 1 pm / delete the concert from my agenda / swap my Monday and Tuesday calls / make the meeting half an hour longer / I can't do Friday, shift it / clear my afternoon
zh: 评审推到下周 / 取消三点的会 / 午饭改到一点 / 会议延长半小时 / 下午的安排都删掉
reminder_set | Sets reminders
en: remind me to water the plants / don't let me forget the milk / ping me in an hour about the oven / tell me at six to call Dad / nudge me about rent on the first / I must take my pills at eight, alert me / remember to buy stamps for me / notify me when it's time to leave
zh: 提醒我浇花 / 一小时后叫我看烤箱 / 六点提醒我给爸爸打电话 / 八点吃药提醒 / 别让我忘了买牛奶
alarm_set | Sets alarms and timers
en: wake me at 6:30 / timer for eight minutes / alarm every weekday at seven / snooze ten more minutes / turn off the morning alarm / count down from sixty seconds / get me up early tomorrow / how long is left on the timer
zh: 六点半叫我起床 / 定一个八分钟的计时 / 工作日七点的闹钟 / 再睡十分钟 / 关掉早上的闹钟
todo_list | Keeps to-do and shopping lists
en: put eggs on my shopping list / what do I still have to do / cross off the laundry / add call the bank to my tasks / start a list for the party / is butter on the list / remove bread from groceries / read me my to dos
zh: 购物清单加上鸡蛋 / 我还有什么没做 / 把洗衣服划掉 / 待办里加给银行打电话 / 清单里有黄油吗
weather | Tells the weather
en: will it rain tomorrow / how hot is it in Seville / do I need a coat / forecast for the weekend / is a storm coming / how windy at the lake / snow in the Alps this week / humidity right now
zh: 明天下雨吗 / 塞维利亚多少度 / 要穿外套吗 / 周末天气怎么样 / 有暴风雨吗
traffic_route | Gives directions and traffic
en: how do I get to the stadium / is the A9 jammed / fastest way home / how long to drive to Lyon / avoid tolls to the coast / directions on foot to the museum / accident on my commute / which bus goes to the zoo
zh: 去体育场怎么走 / 高速堵不堵 / 回家最快的路 / 开到里昂要多久 / 哪路公交到动物园
restaurant_book | Reserves tables
en: table for four at eight / reserve at the thai place / book dinner for our anniversary / is there room for six on Sunday at Luigi's / move our dinner reservation to nine / cancel the table for tonight / a terrace seat for lunch / get us into the steakhouse
zh: 今晚八点四个人的位子 / 预订泰国餐馆 / 取消今晚的桌 / 晚餐改到九点 / 周日六个人有位吗
restaurant_find | Finds restaurants
en: where can I get good ramen / vegan places around here / is the pizzeria any good / cheap eats in the old town / sushi open late / which cafe has the best reviews / somewhere romantic to eat / kid friendly diner close by
zh: 哪里有好吃的拉面 / 附近的素食馆 / 老城区便宜的馆子 / 哪家咖啡店评价最好 / 适合约会的餐厅
food_order | Orders food to be delivered
en: get me a pepperoni pizza delivered / order pad thai for two / I'm hungry, bring me a burger / where's my curry, I ordered an hour ago / add fries to my takeaway / same noodles as last time from Wok / send lunch to the office / no onions on the sandwich I'm ordering
zh: 点一份披萨外卖 / 叫两份炒饭 / 外卖里加薯条 / 我的咖喱怎么还没送来 / 午饭送到办公室
recipe_find | Gives recipes
en: how do I make pancakes / something to cook with leeks and rice / dinner idea for kids / steps for a beef stew / what goes into hummus / easy dessert without eggs / recipe for sourdough / teach me to cook risotto
zh: 松饼怎么做 / 韭葱和米饭能做什么 / 炖牛肉的步骤 / 不用鸡蛋的甜点 / 鹰嘴豆泥里放什么
nutrition_info | Tells what food contains
en: calories in an avocado / is tofu high in protein / how much sugar is in cola / are lentils healthy / carbs in a bowl of rice / does cheese contain lactose / vitamins in spinach / fat content of salmon
zh: 牛油果多少热量 / 豆腐蛋白质高吗 / 可乐有多少糖 / 菠菜含什么维生素 / 三文鱼的脂肪含量
ingredient_swap | Names substitutes for ingredients
en: I have no buttermilk, what else works / replace eggs in cake / can I use honey rather than sugar / instead of cream in soup / alternative to soy sauce / out of yeast, now what / is margarine fine in place of butter / vegan swap for gelatine
zh: 没有酪乳用什么代替 / 蛋糕不放鸡蛋放什么 / 能用蜂蜜代糖吗 / 酱油的替代品 / 黄油换人造黄油行吗
lights_control | Switches lights
en: turn off the kitchen lamp / it's too dark in here / dim the bedroom to thirty percent / make the lights blue / lights on when I come home / is the porch light still burning / brighten the hall / everything dark please, I'm going to bed
zh: 关掉厨房的灯 / 这里太暗了 / 卧室调暗一点 / 灯换成蓝色 / 门口的灯还亮着吗
heating_control | Sets heating and cooling
en: make it warmer / set the thermostat to 20 / turn on the air conditioning / it's freezing in the living room / cool the bedroom before I sleep / lower the heat at night / what temperature is it inside / is the radiator in the bath on
zh: 调高暖气 / 温度设到二十度 / 开空调 / 客厅冷死了 / 家里现在几度
appliance_control | Runs household machines
en: start the dishwasher / is the washing machine done / preheat the oven to 200 / tell the vacuum robot to do the hall / brew a coffee at seven / pause the dryer / open the blinds / turn the fan on in the study
zh: 启动洗碗机 / 洗衣机洗完了吗 / 烤箱预热到两百度 / 让扫地机器人扫走廊 / 把窗帘打开
home_security | Watches doors, locks and cameras
en: did I lock the front door / show the garden camera / arm the alarm system / who rang the bell / is the garage open / let the plumber in / any motion in the house today / disarm, it's me
zh: 门锁了没有 / 看看花园的摄像头 / 打开警报 / 谁按的门铃 / 车库门关了吗
media_play | Plays music and films
en: put on some jazz / play the new episode / skip this song / louder please / resume my audiobook / what track is this / something cheerful to listen to / stop the music in the kitchen
zh: 放点爵士乐 / 播放最新一集 / 跳过这首 / 声音大一点 / 继续放有声书
smalltalk | Chats
en: how are you doing / tell me a joke / are you a robot / what's your name / who made you / do you have hobbies / I'm bored, talk to me / you're funny
zh: 你好吗 / 讲个笑话 / 你是机器人吗 / 你叫什么名字 / 陪我聊聊天
`;

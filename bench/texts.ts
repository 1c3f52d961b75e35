/** What the callers ask for and what the agents say of themselves: small talk of a support desk, in two languages. */
const TOPICS: readonly [topic: string, english: string, chinese: string][] = [
  ['returns and refunds', 'I want my money back for the broken kettle', '水壶坏了，我要退款'],
  ['delivery tracking', 'Where is the parcel I ordered last week', '上周订的包裹现在到哪里了'],
  ['invoices', 'Please send me an invoice for my company', '请给公司开一张发票'],
  ['passwords and sign-in', 'I cannot sign in, the password is refused', '登录不了，密码不对'],
  ['warranty repairs', 'The screen flickers and it is still under warranty', '屏幕闪烁，还在保修期内'],
  ['product advice', 'Which vacuum cleaner suits a home with two cats', '家里有两只猫，哪款吸尘器合适'],
  ['gift cards', 'The code on my gift card does not work', '礼品卡的兑换码无效'],
  ['address changes', 'I moved, please change my delivery address', '我搬家了，请改收货地址'],
  ['complaints', 'This is the third time nobody called me back', '这是第三次没有人回电话了'],
  ['subscription plans', 'How do I cancel my monthly subscription', '怎样取消每月的订阅'],
  ['payment failures', 'My card was charged but the order failed', '银行卡扣了款，订单却失败了'],
  ['loyalty points', 'My points from the last order are missing', '上一单的积分没有到账'],
  ['installation help', 'How do I mount the lamp on a concrete ceiling', '怎样把灯装在水泥天花板上'],
  ['spare parts', 'Do you sell filters for the old coffee machine', '旧款咖啡机的滤网还有卖吗'],
  ['order changes', 'Please add a second cable to my order', '请在我的订单里再加一根数据线'],
  ['store hours', 'Is the shop in the old town open on Sunday', '老城区的门店星期天开门吗'],
  ['privacy requests', 'Delete all the data that you hold about me', '请删除你们保存的我的全部数据'],
  ['bulk orders', 'We need four hundred chairs by September', '我们九月前需要四百把椅子'],
  ['price matching', 'I saw the same phone cheaper elsewhere', '同一款手机别家更便宜'],
  ['accessibility', 'Can your letters be printed in large type', '你们的信件可以用大字印刷吗'],
];

/** The wording of the agent with this number. */
export function topicOf(agent: number): { description: string; examples: string[] } {
  const [topic, english, chinese] = TOPICS[agent % TOPICS.length]!;
  return { description: `Answers questions about ${topic}.`, examples: [`A question on ${topic}`, english, chinese] };
}

/** Every text that a request may carry; few enough that all are warmed. */
export const REQUEST_TEXTS: readonly string[] = TOPICS.flatMap(([, english, chinese]) => [
  `${english}, please help`,
  `${chinese}，请帮忙`,
]);

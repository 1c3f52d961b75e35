import type { AbilityText } from '../protocol/matching';
import { LexicalMatcher } from './lexical-matcher';
import { stem, termsOf } from './terms';

const ability = (...texts: string[]): AbilityText => ({ key: texts.join('|'), texts });
const REFUND = ability(
  '查询退款进度与到账时间 Refunds and their progress',
  '钱怎么还没退给我',
  'when do I get my money back?',
);
const STOCK = ability('商品的库存与价格 Stock and prices of products', '还有现货吗', 'is it available in blue?');
const ALL = [REFUND, STOCK];

async function best(text: string): Promise<number> {
  return (await new LexicalMatcher().similarities(text, ALL, { limit: 1 }))[0]!.position;
}

test.each([
  ['我的退款到账了吗', 0],
  ['我的退款到賬了嗎', 0], // Traditional
  ['refunding takes long, what progress?', 0],
  ['ＲＥＦＵＮＤ　ｐｒｏｇｒｅｓｓ', 0], // full-width
  ['现货', 1],
  ['現貨', 1], // Traditional
  ['这件有库存吗', 1],
  ['what is the price of this product', 1],
])('%s', async (text, position) => {
  expect(await best(text)).toBe(position);
});

test('a text that shares nothing is off topic and nobody is nearer', async () => {
  const matches = await new LexicalMatcher().similarities('zzz qqq', ALL);
  expect(matches.map(({ closeness }) => closeness)).toEqual([0, 0]);
  expect(matches.map(({ position }) => position)).toEqual([0, 1]);
  expect(matches.every(({ fit }) => fit < 0.5)).toBe(true);
});

test('a blank text, and abilities without words, give numbers', async () => {
  const matches = await new LexicalMatcher().similarities('', [...ALL, ability('!?')]);
  for (const match of matches) expect([match.cosine, match.closeness, match.fit].every(Number.isFinite)).toBe(true);
});

test('takes only what is accepted, and as many as asked for', async () => {
  const matches = await new LexicalMatcher().similarities('refund', ALL, {
    limit: 1,
    accept: (position) => position === 1,
  });
  expect(matches.map(({ position }) => position)).toEqual([1]);
});

test('an ability that was left out of prepare() is taken up when it is asked about', async () => {
  const matcher = new LexicalMatcher();
  await matcher.prepare([REFUND]);
  expect((await matcher.similarities('stock', ALL))[0]!.position).toBe(1);
  await matcher.prepare([STOCK]);
  expect((await matcher.similarities('stock', ALL))[0]!.position).toBe(1);
});

test('stems bring forms of a word together and leave short words alone', () => {
  expect(new Set(['refund', 'refunds', 'refunded', 'refunding'].map(stem))).toEqual(new Set(['refund']));
  expect([stem('stopped'), stem('is'), stem('bed')]).toEqual(['stop', 'is', 'bed']);
});

test('Chinese gives single signs and neighbours, across no punctuation', () => {
  expect([...termsOf('退款，慢').keys()]).toEqual(['退', '款', '退款', '慢']);
});

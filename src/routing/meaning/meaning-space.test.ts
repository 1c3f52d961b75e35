import { WordEmbedder } from '../../../test/routing/fixtures';
import type { AbilityText } from '../../protocol/matching';
import { MeaningSpace } from './meaning-space';

const ability = (...texts: string[]): AbilityText => ({ key: texts.join('|'), texts });

async function spaceOf(abilities: AbilityText[], embedder = new WordEmbedder()): Promise<MeaningSpace> {
  return MeaningSpace.build(abilities, await embedder.embed(MeaningSpace.textsOf(abilities)));
}

async function vector(text: string): Promise<Float32Array> {
  return (await new WordEmbedder().embed([text]))[0]!;
}

const cosine = (a: Float32Array, b: Float32Array) => a.reduce((sum, value, i) => sum + value * b[i]!, 0);

test('keeps the raw cosine with the description beside what it ranks by', async () => {
  const abilities = [ability('mends shoes', 'torn boots'), ability('bakes bread', 'cakes and rolls')];
  const space = await spaceOf(abilities);
  const query = await vector('torn shoes');
  const matches = space.match('torn shoes', query, abilities);
  expect(matches.map(({ position }) => position)).toEqual([0, 1]);
  expect(matches[0]!.cosine).toBeCloseTo(cosine(query, await vector('mends shoes')), 5);
  expect(matches[0]!.closeness).toBeGreaterThan(matches[1]!.closeness);
  expect(matches[0]!.fit).toBeGreaterThan(0.5);
  expect(matches[1]!.fit).toBeLessThan(0.5);
});

test('what all texts of a language share does not count: a bias towards one language goes away', async () => {
  // A model in which each text is mostly its language and only slightly what it says.
  const embedder = new WordEmbedder();
  const [zhBias, enBias] = await embedder.embed(['bias-of-chinese', 'bias-of-english']);
  const biased = async (texts: string[]) => {
    const vectors = await embedder.embed(texts);
    return vectors.map((v, i) => {
      const bias = /\p{Script=Han}/u.test(texts[i]!) ? zhBias! : enBias!;
      const sum = v.map((value, d) => 0.4 * value + bias[d]!);
      const length = Math.hypot(...sum);
      return sum.map((value) => value / length);
    });
  };
  const abilities = [ability('天气 预报', '明天 下雨'), ability('refund status', '退款 进度', 'money back')];
  const space = await MeaningSpace.build(abilities, await biased(MeaningSpace.textsOf(abilities)));
  const asked = '退款 在 哪里';
  const [query] = await biased([asked]);
  const raw = abilities.map(async ({ texts }) => cosine(query!, (await biased([texts[0]!]))[0]!));
  const [weather, refund] = await Promise.all(raw);
  expect(weather!).toBeGreaterThan(refund!); // the raw cosine falls for the language
  expect(space.match(asked, query!, abilities)[0]!.position).toBe(1);
});

test('finds the same best among thousands by a coarse look as by a full one', async () => {
  const abilities = Array.from({ length: 1200 }, (_, i) =>
    ability(`thing${i} of kind${i % 40}`, `example${i} for thing${i}`),
  );
  const space = await spaceOf(abilities, new WordEmbedder(384));
  const wide = new WordEmbedder(384);
  for (const wanted of [7, 600, 1199]) {
    const text = `example${wanted} thing${wanted}`;
    const [query] = await wide.embed([text]);
    const limited = space.match(text, query!, abilities, { limit: 8 });
    const full = space.match(text, query!, abilities);
    expect(limited).toHaveLength(8);
    expect(limited[0]!.position).toBe(wanted);
    expect(full).toHaveLength(1200);
    expect(full[0]!.position).toBe(wanted);
    expect(limited[0]!.closeness).toBeCloseTo(full[0]!.closeness, 4);
    const accepted = space.match(text, query!, abilities, {
      limit: 8,
      accept: (position) => position % 2 !== wanted % 2,
    });
    expect(accepted.every(({ position }) => position % 2 !== wanted % 2)).toBe(true);
    const rare = space.match(text, query!, abilities, { limit: 8, accept: (position) => position % 100 === 99 });
    expect(rare).toHaveLength(8); // few of them are among the nearest hundreds
    expect(rare.every(({ position }) => position % 100 === 99)).toBe(true);
  }
});

test('nobody who was only glanced at ends up above those who were looked at closely', async () => {
  const abilities = Array.from({ length: 100 }, (_, i) => ability(`word${i} alike`, `other${i} words${i}`));
  const space = await spaceOf(abilities);
  const matches = space.match('alike', await vector('alike'), abilities);
  const worstOfBest = Math.min(...matches.slice(0, 32).map(({ closeness }) => closeness));
  for (const { closeness } of matches.slice(32)) expect(closeness).toBeLessThanOrEqual(worstOfBest);
});

test('vectors without length are near to nothing, never NaN', async () => {
  const abilities = [ability('a'), ability('b')];
  const zero = MeaningSpace.textsOf(abilities).map(() => new Float32Array(8));
  const space = await MeaningSpace.build(abilities, zero);
  for (const match of space.match('x', new Float32Array(8), abilities)) {
    expect([match.cosine, match.closeness, match.fit].every(Number.isFinite)).toBe(true);
  }
});

test.each([
  ['one ability', [ability('mends shoes', 'torn boots')]],
  ['two without examples', [ability('mends shoes'), ability('bakes bread')]],
  ['two, one with a single example', [ability('mends shoes', 'torn boots'), ability('bakes bread')]],
])('%s: the right one is nearest and on topic, a stranger less', async (_, abilities) => {
  const space = await spaceOf(abilities);
  const [best] = space.match('mends torn shoes', await vector('mends torn shoes'), abilities, { limit: 1 });
  expect(best!.position).toBe(0);
  expect(best!.fit).toBeGreaterThan(0.5);
  const [stranger] = space.match('quarks spin', await vector('quarks spin'), abilities, { limit: 1 });
  expect(stranger!.fit).toBeLessThan(best!.fit);
});

test('the same abilities in another order give the same figures', async () => {
  const abilities = Array.from({ length: 30 }, (_, i) =>
    ability(`does thing${i}`, `please thing${i}`, `now thing${i} too`),
  );
  const query = await vector('please do thing7');
  const figures = async (order: AbilityText[]) => {
    const matches = (await spaceOf(order)).match('please do thing7', query, order, { limit: 5 });
    return matches.map(({ position, closeness, fit }) => ({ key: order[position]!.key, closeness, fit }));
  };
  const [forwards, backwards] = [await figures(abilities), await figures([...abilities].reverse())];
  expect(backwards[0]!.key).toBe(forwards[0]!.key);
  expect(backwards[0]!.closeness).toBeCloseTo(forwards[0]!.closeness, 3);
  expect(backwards[0]!.fit).toBeCloseTo(forwards[0]!.fit, 3);
  expect(await figures(abilities)).toEqual(forwards);
});

test('wording that all abilities vary in counts less than what sets them apart', async () => {
  // Each says its own word with three politenesses; the query has one ability's word and another's politeness.
  const politenesses = ['kindly', 'swiftly', 'quietly'];
  const abilities = Array.from({ length: 40 }, (_, i) =>
    ability(`word${i}`, ...politenesses.map((manner) => `${manner} ${manner} word${i}`)),
  );
  const asked = 'kindly kindly kindly word3';
  const [best] = (await spaceOf(abilities)).match(asked, await vector(asked), abilities, { limit: 1 });
  expect(best!.position).toBe(3);
});

import { WordEmbedder } from '../../../test/routing/fixtures';
import { centredCosine, centreQuery, addCentred, dotAt, layOut } from './vector-space';

const ENGLISH = Array.from({ length: 15 }, (_, i) => `common english words and number${i}`);
const CHINESE = Array.from({ length: 15 }, (_, i) => `常用 中文 词语 数字${i}`);
const TEXTS = [...ENGLISH, ...CHINESE];

async function laidOut(texts: string[]) {
  return layOut(texts, await new WordEmbedder().embed(texts));
}

test.each([ENGLISH[3]!, CHINESE[4]!])('a text centred on its own language is itself: %s', async (text) => {
  const rows = await laidOut(TEXTS);
  const row = rows.rowOf.get(text)!;
  const query = centreQuery(rows, text, rows.values.subarray(row * rows.dimensions, (row + 1) * rows.dimensions));
  expect(centredCosine(rows, query, row)).toBeCloseTo(1, 4);
  const sum = new Float32Array(rows.dimensions);
  addCentred(rows, row, { sum, offset: 0, factor: 1 });
  expect(dotAt(query.centred, sum, 0)).toBeCloseTo(1, 4);
});

test('what is common to a language is gone: other texts of it are no nearer than those of another', async () => {
  const rows = await laidOut(TEXTS);
  const [raw] = await new WordEmbedder().embed(['common english words and number99']);
  const query = centreQuery(rows, 'common english words and number99', raw!);
  const mean = (texts: string[]) =>
    texts.reduce((sum, text) => sum + centredCosine(rows, query, rows.rowOf.get(text)!), 0) / texts.length;
  expect(dotAt(raw!, rows.values, 0)).toBeGreaterThan(0.7);
  expect(Math.abs(mean(ENGLISH))).toBeLessThan(0.1);
  expect(Math.abs(mean(CHINESE))).toBeLessThan(0.1);
});

test('the same text twice is stored once', async () => {
  const rows = await laidOut(['a', 'b', 'a']);
  expect([...rows.rowOf]).toEqual([
    ['a', 0],
    ['b', 1],
  ]);
  expect(rows.inverseNorms).toHaveLength(2);
});

test('dotAt takes any length and place', () => {
  const query = Float32Array.of(1, 2, 3, 4, 5, 6);
  expect(dotAt(query, Float32Array.of(9, 9, 1, 1, 1, 1, 1, 2), 2)).toBe(1 + 2 + 3 + 4 + 5 + 12);
});

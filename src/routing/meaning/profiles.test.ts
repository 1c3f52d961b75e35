import { WordEmbedder } from '../../../test/routing/fixtures';
import { holdOut } from './held-out';
import { SCRIPT_NAMES } from './language';
import { Profiles } from './profiles';
import { addCentred, layOut } from './vector-space';
import { Whitening } from './whitening';

const ABILITIES = [
  { key: 'a', texts: ['mends shoes', 'torn boots', 'worn heels'] },
  { key: 'b', texts: ['bakes bread', 'torn boots'] },
  { key: 'c', texts: ['烤面包', '热面包', '新鲜面包'] },
];

async function setUp() {
  const texts = [...new Set(ABILITIES.flatMap((ability) => ability.texts))];
  const rows = layOut(texts, await new WordEmbedder(32).embed(texts));
  const profiles = new Profiles(rows, ABILITIES, (text) => rows.rowOf.get(text)!);
  return { rows, profiles, means: profiles.means(), whitening: await Whitening.of(new Float32Array(0), 32) };
}

test('a text that two abilities share is one row', async () => {
  const { profiles } = await setUp();
  expect(profiles.textCount).toBe(8);
  expect([...profiles.membersOf(0)]).toEqual([0, 1, 2]);
  expect([...profiles.membersOf(1)]).toEqual([3, 1]);
});

test('residuals of an ability’s texts sum to nothing, and a sample of them is some of them', async () => {
  const { profiles, means } = await setUp();
  const all = profiles.residuals(means, 100);
  expect(all).toHaveLength(8 * 32);
  for (let d = 0; d < 32; d++) expect(all[d]! + all[32 + d]! + all[64 + d]!).toBeCloseTo(0, 5);
  const some = profiles.residuals(means, 4);
  expect(some).toHaveLength(4 * 32);
  expect([...some.subarray(32, 64)]).toEqual([...all.subarray(64, 96)]);
});

test('an example is held out of its own ability, by the script it is in', async () => {
  const { rows, profiles, means, whitening } = await setUp();
  const held = holdOut({ rows, profiles, means, whitening });
  const counts = Object.fromEntries(held.map((texts, i) => [SCRIPT_NAMES[i], texts.length]));
  expect(counts).toMatchObject({ latin: 2, han: 2 }); // b would have nothing but its description left
  const others = new Float32Array(32);
  for (const row of [0, 2]) addCentred(rows, row, { sum: others, offset: 0, factor: 1 });
  const own = new Float32Array(32);
  addCentred(rows, 1, { sum: own, offset: 0, factor: 1 });
  const cosine = own.reduce((sum, value, i) => sum + value * others[i]!, 0) / Math.hypot(...others);
  expect(held[SCRIPT_NAMES.indexOf('latin')]![0]!.whitened).toBeCloseTo(cosine, 4);
});

import fc from 'fast-check';
import { seededRandom } from '../../test/routing/fixtures';
import { draw, type Rivals } from './exploration';

const share = fc.double({ min: 0, max: 1, noNaN: true });
const drawn = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
/** Some are near, and of those the first few are tied. */
const rivals = fc
  .tuple(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 20 }))
  .map(([near, tied]): Rivals => {
    const positions = Array.from({ length: near }, (_, i) => i * 3);
    return { near: positions, tied: positions.slice(0, Math.min(near, tied)) };
  });

test('whoever is picked is near; who is explored is not the winner; the same number picks the same', () => {
  fc.assert(
    fc.property(rivals, share, drawn, (given, rate, number) => {
      const made = draw(given, { rate, random: () => number });
      expect(given.near).toContain(made.position);
      expect(given.tied).toContain(made.winner);
      expect(made.position !== made.winner).toBe(made.explored);
      expect(draw(given, { rate, random: () => number })).toEqual(made);
      if (made.record) expect(made.record).toEqual({ draw: number, among: given.near.length - 1 });
    }),
  );
});

test('the rule of the record recomputes the choice', () => {
  fc.assert(
    fc.property(rivals, fc.double({ min: 0.01, max: 0.99, noNaN: true }), drawn, (given, rate, number) => {
      const { position, record } = draw(given, { rate, random: () => number });
      if (record === null) return;
      const p = 1 - rate;
      const u = record.draw >= p ? (record.draw - p) / (1 - p) : record.draw / p;
      const place = u * given.tied.length;
      const winner = given.tied[Math.min(given.tied.length - 1, Math.floor(place))]!;
      const others = given.near.filter((other) => other !== winner);
      const v = place - given.tied.indexOf(winner);
      const expected = record.draw >= p ? others[Math.min(others.length - 1, Math.floor(v * record.among))] : winner;
      expect(position).toBe(expected);
    }),
  );
});

test('without a rival, and at rate 0, nothing is drawn: of equals the first takes it', () => {
  const random = () => {
    throw new Error('asked for a number');
  };
  expect(draw({ tied: [4], near: [4] }, { rate: 1, random })).toMatchObject({ position: 4, record: null });
  expect(draw({ tied: [4, 7], near: [4, 7] }, { rate: 0, random })).toMatchObject({ position: 4, record: null });
});

test('one in ten is tried, uniformly among the others', () => {
  const random = seededRandom(11);
  const counts = new Map<number, number>();
  for (let i = 0; i < 30_000; i++) {
    const { position } = draw({ tied: [0], near: [0, 1, 2, 3] }, { rate: 0.1, random });
    counts.set(position, (counts.get(position) ?? 0) + 1);
  }
  // Binomial(30000, 1/30): mean 1000, standard deviation 31; four of them either way.
  for (const other of [1, 2, 3]) expect(Math.abs(counts.get(other)! - 1_000)).toBeLessThan(124);
});

test('equals get the same share, explored or not', () => {
  const random = seededRandom(12);
  const counts = [0, 0, 0];
  for (let i = 0; i < 30_000; i++)
    counts[draw({ tied: [0, 1, 2], near: [0, 1, 2] }, { rate: 0.1, random }).position]! += 1;
  // Binomial(30000, 1/3): standard deviation 82.
  for (const count of counts) expect(Math.abs(count - 10_000)).toBeLessThan(330);
});

test('rate 1 always tries somebody else, a draw of 0 is the plain choice', () => {
  expect(draw({ tied: [0], near: [0, 1] }, { rate: 1, random: () => 0 })).toMatchObject({
    position: 1,
    explored: true,
  });
  expect(draw({ tied: [0, 1], near: [0, 1] }, { rate: 0.1, random: () => 0 })).toMatchObject({
    position: 0,
    explored: false,
  });
});

import fc from 'fast-check';
import { calibrationOf, scoresOf, type Answer } from './scores';

const answer = (expected: string | null, ranked: string[], topic: number): Answer => ({ expected, ranked, topic });

test('top-1, top-3 and macro F1 count on-topic queries, the AUROC all', () => {
  const scores = scoresOf([
    answer('a', ['a', 'b', 'c'], 0.9),
    answer('a', ['b', 'a', 'c'], 0.8),
    answer('b', ['c', 'd', 'b'], 0.7),
    answer('b', ['c', 'd', 'e'], 0.2),
    answer(null, ['a', 'b', 'c'], 0.5),
  ]);
  // F1 of a: 2·1/(2+1); of b: 0 of (2+1).
  expect(scores).toEqual({ top1: 0.25, top3: 0.75, macro_f1: 0.3333, offtopic_auroc: 0.75 });
});

test('without off-topic queries there is no AUROC', () => {
  expect(scoresOf([answer('a', ['a'], 1)]).offtopic_auroc).toBeNull();
});

test('the AUROC is the share of pairs in the right order, ties counting half', () => {
  const topics = fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(topics, topics, (on, off) => {
      const answers = [...on.map((t) => answer('a', ['a'], t)), ...off.map((t) => answer(null, ['a'], t))];
      let wins = 0;
      for (const a of on) for (const b of off) wins += a > b ? 1 : a === b ? 0.5 : 0;
      expect(scoresOf(answers).offtopic_auroc).toBeCloseTo(wins / (on.length * off.length), 3);
    }),
  );
});

test('calibration is the distance between what was promised and what came', () => {
  const { ece, bins } = calibrationOf([
    [0.95, true],
    [0.95, false],
    [1, true],
    [0.15, false],
  ]);
  expect(bins).toEqual([
    { from: 0.1, to: 0.2, count: 1, confidence: 0.15, accuracy: 0 },
    { from: 0.9, to: 1, count: 3, confidence: 0.9667, accuracy: 0.6667 },
  ]);
  expect(ece).toBeCloseTo((0.15 + 0.9) / 4, 4);
});

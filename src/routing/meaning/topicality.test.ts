import fc from 'fast-check';
import { Topicality } from './topicality';

const around = (middle: number, spread: number) =>
  Array.from({ length: 21 }, (_, i) => middle + (spread * (i - 10)) / 10);

test('between everyday sentences and held-out examples fit is about a half', () => {
  const topicality = Topicality.measure({ background: [around(0.8, 0.02)], held: [Array(500).fill(0.9)] });
  expect(topicality.fit(0.9, 0)).toBeGreaterThan(0.9);
  expect(topicality.fit(0.849, 0)).toBeCloseTo(0.5, 1);
  expect(topicality.fit(0.79, 0)).toBeLessThan(0.1);
});

test('a language whose texts all lie lower has its own level', () => {
  const topicality = Topicality.measure({
    background: [around(0.8, 0.02), around(0.7, 0.02)],
    held: [Array(500).fill(0.9), []],
  });
  expect(topicality.fit(0.8, 1)).toBeGreaterThan(0.9);
  expect(topicality.fit(0.8, 0)).toBeLessThan(0.2);
});

test('a language without everyday sentences has the level of all', () => {
  const topicality = Topicality.measure({ background: [around(0.8, 0.02), []], held: [[], []] });
  expect(topicality.fit(0.81, 1)).toBeCloseTo(topicality.fit(0.81, 0), 6);
});

test('in a language that no example is in, less is enough', () => {
  const topicality = Topicality.measure({ background: [around(0.8, 0.02), []], held: [Array(500).fill(0.9), []] });
  expect(topicality.fit(0.85, 1)).toBeGreaterThan(topicality.fit(0.85, 0));
});

test('the scale of a model does not matter', () => {
  const fits = [1, 10].map((scale) =>
    Topicality.measure({
      background: [around(0.08, 0.02).map((value) => value * scale)],
      held: [around(0.2, 0.02).map((value) => value * scale)],
    }).fit(0.15 * scale, 0),
  );
  expect(fits[0]).toBeCloseTo(fits[1]!, 6);
});

test('whatever the evidence, fit is within 0 and 1 and rises with nearness', () => {
  const values = fc.array(fc.float({ min: -1, max: 1, noNaN: true }), { maxLength: 30 });
  fc.assert(
    fc.property(values, values, (background, held) => {
      const topicality = Topicality.measure({ background: [background], held: [held] });
      const fits = [-1, -0.5, 0, 0.5, 1].map((nearness) => topicality.fit(nearness, 0));
      fits.forEach((fit, i) => {
        expect(fit).toBeGreaterThanOrEqual(i === 0 ? 0 : fits[i - 1]!);
        expect(fit).toBeLessThanOrEqual(1);
      });
    }),
  );
});

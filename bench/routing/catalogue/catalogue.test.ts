import { catalogueAbilities, catalogueSet } from '.';

test('150 abilities, each with a description and as many phrases as the others', () => {
  const abilities = catalogueAbilities();
  expect(abilities).toHaveLength(150);
  expect(new Set(abilities.map(({ name }) => name)).size).toBe(150);
  for (const { description, phrases } of abilities) {
    expect(description).not.toBe('');
    expect([phrases.en.length, phrases.zh.length]).toEqual([8, 5]);
  }
  const phrases = abilities.flatMap(({ phrases: own }) => [...own.en, ...own.zh]);
  expect(new Set(phrases).size).toBe(phrases.length);
});

test('the same seed makes the same set, with no query among the examples', () => {
  const options = { seed: 4, examples: { en: 5, zh: 3 } };
  const set = catalogueSet(options);
  expect(catalogueSet(options)).toEqual(set);
  expect(catalogueSet({ ...options, seed: 5 })).not.toEqual(set);
  expect([set.train.length, set.test.length]).toEqual([150 * 8, 150 * 5]);
  expect(set.oos_test.length).toBeGreaterThan(100);
  const examples = new Set(set.train.map(([text]) => text));
  expect(set.test.filter(([text]) => examples.has(text))).toEqual([]);
});

test('familiar queries repeat phrases of examples, never an example itself', () => {
  const set = catalogueSet({ seed: 4, examples: { en: 5 }, familiar: true });
  expect(set.test.length).toBeGreaterThan(150 * 6);
  const examples = new Set(set.train.map(([text]) => text));
  expect(set.test.filter(([text]) => examples.has(text))).toEqual([]);
});

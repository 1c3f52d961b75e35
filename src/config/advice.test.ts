import { adviceOn } from './advice';
import { loadConfig } from './load';

const settingsIn = (text: string) => adviceOn(loadConfig({ text })).map(({ setting }) => setting);

it('has nothing to say of the defaults, nor of a reliability weight of 0.3', () => {
  expect(settingsIn('')).toEqual([]);
  const weights = '{ semantic_similarity: 0.5, latency_score: 0.2, reliability_score: 0.3 }';
  expect(settingsIn(`router: { weights: ${weights} }`)).toEqual([]);
});

it.each([
  'router: { weights: { reliability_score: 0.5 } }',
  'router: { weights: { semantic_similarity: 0.1, latency_score: 0.1, reliability_score: 0.1 } }',
  'router: { enabled_factors: [latency_score, reliability_score] }',
])('warns of a reliability weight that is over 0.3 of those in use: %s', (text) => {
  expect(settingsIn(text)).toEqual(['router.weights.reliability_score']);
  const [{ message } = { message: '' }] = adviceOn(loadConfig({ text }));
  expect(message).toMatch(/over 0\.3: an agent that had a bad time .* lower it to 0\.3 or less/);
});

it.each([
  'router: { enabled_factors: [semantic_similarity, latency_score], weights: { reliability_score: 1 } }',
  'router: { default_strategy: random, weights: { reliability_score: 1 } }',
])('not of one that has no say: %s', (text) => {
  expect(settingsIn(text)).toEqual([]);
});

it('warns where nobody is ever tried', () => {
  expect(settingsIn('router: { exploration: { rate: 0 } }')).toEqual(['router.exploration.rate']);
});

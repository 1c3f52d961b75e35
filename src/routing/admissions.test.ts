import { agent, ScriptedBreakers } from '../../test/routing/fixtures';
import { AbilityIndex, type Offer } from './ability-index';
import { Admissions, mightPass, rolling, stillPasses } from './admissions';

const BYPASS = { share: 0.05, mark: 'bypass' as const, detail: 'bypass since 12:00:00 UTC', retryAfterMs: 100 };
const CLOSED = { share: 1, mark: null, detail: '', retryAfterMs: 0 };
const OPEN = { share: 0, mark: null, detail: 'open', retryAfterMs: 5000 };

const index = new AbilityIndex([
  agent({ name: 'a', version: '1.0.0', capabilities: ['rest', 'work'] }),
  agent({ name: 'b', version: '1.0.0', capabilities: ['work'] }),
]);
const offers = index.all.offers;

function setUp(gates: ConstructorParameters<typeof ScriptedBreakers>[0], random: () => number) {
  const breakers = new ScriptedBreakers(gates);
  return { breakers, admissions: new Admissions(breakers, rolling(random), offers.length) };
}

test('offers have places of their own and know whom their breaker guards', () => {
  expect(offers.map(({ position }) => position)).toEqual([0, 1, 2]);
  expect(offers.map(({ breakerKey }) => breakerKey)).toEqual([
    { agentName: 'a', agentVersion: '1.0.0', ability: 'rest' },
    { agentName: 'a', agentVersion: '1.0.0', ability: 'work' },
    { agentName: 'b', agentVersion: '1.0.0', ability: 'work' },
  ]);
});

test('each breaker is asked once and rolled once, closed or not', () => {
  const draws = [0.04, 0.99];
  const { breakers, admissions } = setUp({ 'a#1.0.0/work': BYPASS }, () => draws.shift()!);
  const seen = () => offers.map((offer) => admissions.of(offer)?.passes ?? null);
  expect([seen(), seen(), seen()]).toEqual(Array(3).fill([null, true, null]));
  expect(breakers.asked).toEqual(['a#1.0.0/rest', 'a#1.0.0/work', 'b#1.0.0/work']);
  expect(draws).toEqual([0.99]);
});

test('the key is the offer’s own: asking makes none', () => {
  const keys: unknown[] = [];
  const gate = (key: Offer['breakerKey']) => (keys.push(key), CLOSED);
  new Admissions({ gate }, mightPass, offers.length).of(offers[2]!);
  expect(keys[0]).toBe(offers[2]!.breakerKey);
});

test.each([
  [1, 0.999999, true],
  [0.5, 0.499999, true],
  [0.5, 0.5, false],
  [0.000001, 0, true],
  [0, 0, false],
  [NaN, 0, false],
])('share %d, draw %d: passes %s', (share, draw, passes) => {
  expect(rolling(() => draw)({ ...BYPASS, share })).toBe(passes);
});

test('nothing is drawn where nothing is to be decided', () => {
  const random = jest.fn(() => 0);
  rolling(random)({ ...BYPASS, share: 0 });
  rolling(random)({ ...BYPASS, share: 1, mark: 'probe' });
  mightPass(BYPASS);
  expect(random).not.toHaveBeenCalled();
});

test.each([
  ['closed, unmarked', CLOSED, undefined, true],
  ['closed again, marked', CLOSED, 'bypass', true],
  ['bypass, unmarked', BYPASS, undefined, false],
  ['bypass, marked', BYPASS, 'bypass', true],
  ['recovering, marked before', { ...BYPASS, mark: 'recovery' }, 'probe', true],
  ['a probe is due, unmarked', { ...CLOSED, mark: 'probe' }, undefined, false],
  ['open, marked', OPEN, 'bypass', false],
  ['open, unmarked', OPEN, undefined, false],
  ['this very probe is out', { ...OPEN, mark: 'probe' }, 'probe', true],
] as const)('%s: a decision made before stands %j', (_when, gate, admission, stands) => {
  expect(stillPasses(gate, admission)).toBe(stands);
});

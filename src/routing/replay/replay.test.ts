import fc from 'fast-check';
import { logged, plans, wordCounter, type Plan } from '../../../test/decisions/generated';
import { seededRandom } from '../../../test/routing/fixtures';
import type { LoggedDecision } from '../../protocol/logged-decision';
import { totalScore } from '../score';
import { prepareChanges } from './changes';
import { Replayer, UNKNOWN } from './replay';
import { replayAll } from './report';

const report = (records: LoggedDecision[], changes: object) =>
  replayAll(records, { changes: prepareChanges(changes), limit: 10 });

test('with nothing changed every decision comes out as it was, score and all', async () => {
  let recomputed = 0;
  let seen = 0;
  await fc.assert(
    fc.asyncProperty(plans, async (plan) => {
      const record = await logged(plan);
      fc.pre(record !== null);
      const { listed, not_recomputed, score_change, changed } = await report([record], {});
      expect(listed).toEqual([]);
      expect({ changed, score_change }).toEqual({
        changed: 0,
        score_change: { mean: 0, mean_absolute: 0, max_absolute: 0 },
      });
      seen += 1;
      recomputed += 1 - not_recomputed.count;
    }),
    { numRuns: 300 },
  );
  expect(recomputed).toBe(seen);
});

test("a decision's factors and weights recompute to its scores", async () => {
  await fc.assert(
    fc.asyncProperty(plans, async (plan) => {
      const record = await logged(plan);
      fc.pre(record !== null);
      for (const { factors, score } of record.candidates) expect(totalScore(factors, record.weights)).toBe(score);
    }),
    { numRuns: 300 },
  );
});

/** Many alike: more than a record holds. */
const crowd = (seed: number): Plan => {
  const random = seededRandom(seed);
  const agents = Array.from({ length: 100 }, (_, i) => ({
    name: `agent_${String(i).padStart(3, '0')}`,
    version: '1.0.0',
    topic: i % 5,
    ready: true,
    stats: { requests: 500, failures: Math.floor(random() * 200), p50_ms: 10 + random() * 3_000 },
    breaker: random() < 0.1 ? { share: 0, mark: null } : null,
  }));
  return { ...plain, agents, seed };
};

const heavy = { semantic_similarity: 0.1, latency_score: 0.3, reliability_score: 0.6 };

/** The scores with which a replay and the router itself, so configured, come out; null for nobody. */
async function bothScores(plan: Plan, changed: Plan, changes: object) {
  const weights = 'weights' in changes ? { weights: heavy } : {};
  const record = await logged(plan, calm, wordCounter);
  const truth = await logged(changed, { ...calm, ...weights }, wordCounter);
  if (record === null || truth === null) return null;
  const replayed = await new Replayer(prepareChanges(changes)).replay(record);
  return replayed.kind === 'unknown'
    ? { unknown: replayed.reason, truth }
    : { replayed: replayed.agentAfter?.score ?? null, truth: truth.chosen?.score ?? null };
}

test('a replay under other weights comes out as the router does with these weights', async () => {
  let known = 0;
  await fc.assert(
    fc.asyncProperty(plans, async (generated) => {
      const plan: Plan = { ...generated, strategy: 'score_based' };
      const scores = await bothScores(plan, plan, { weights: heavy });
      if (scores === null || 'unknown' in scores) return;
      known += 1;
      expect(scores.replayed).toBe(scores.truth);
    }),
    { numRuns: 300 },
  );
  expect(known).toBeGreaterThan(200);
});

test('a replay without an agent comes out as the router does without it', async () => {
  let known = 0;
  await fc.assert(
    fc.asyncProperty(plans, async (generated) => {
      // Shares between 0 and 1 are rolled in the order of agents, which is another one without one of them.
      const agents = generated.agents.map((one) => ({
        ...one,
        breaker: one.breaker && { ...one.breaker, share: Math.round(one.breaker.share) },
      }));
      const plan: Plan = { ...generated, agents, strategy: 'score_based', rule: false, named: false };
      const { name } = agents.at(-1)!;
      const others = agents.filter((one) => one.name !== name);
      fc.pre(others.length > 0);
      const scores = await bothScores(plan, { ...plan, agents: others }, { without: [name] });
      if (scores === null || 'unknown' in scores) return;
      known += 1;
      expect(scores.replayed).toBe(scores.truth);
    }),
    { numRuns: 300 },
  );
  expect(known).toBeGreaterThan(120);
});

test('of more candidates than a record holds, what is told is right, and what may be wrong is not told', async () => {
  const told = { same: 0, weights: 0, without: 0 };
  for (let seed = 0; seed < 25; seed++) {
    const plan = crowd(seed);
    const record = await logged(plan, calm, wordCounter);
    expect(record.inputs!.unrecorded!.count).toBeGreaterThan(0);
    const { changed, not_recomputed } = await report([record], {});
    expect(changed).toBe(0);
    told.same += 1 - not_recomputed.count;
    const { agent_name } = record.chosen!;
    const others = { ...plan, agents: plan.agents.filter(({ name }) => name !== agent_name) };
    for (const [what, scores] of [
      ['weights', await bothScores(plan, plan, { weights: heavy })],
      ['without', await bothScores(plan, others, { without: [agent_name] })],
    ] as const) {
      if (scores === null || 'unknown' in scores) continue;
      told[what] += 1;
      expect(scores.replayed).toBe(scores.truth);
    }
  }
  expect(told).toMatchObject({ same: 25 });
  expect(told.without).toBeGreaterThan(15);
});

const plain: Plan = {
  agents: [],
  routes: [],
  strategy: 'score_based',
  text: 0,
  mode: 'sync',
  sticky: false,
  named: false,
  open: false,
  rule: false,
  degraded: false,
  seed: 1,
};
const calm = { exploration: { rate: 0, band: 0 } };
const member = (name: string, more: Partial<Plan['agents'][number]> = {}): Plan['agents'][number] => ({
  name,
  version: '1.0.0',
  topic: 0,
  ready: true,
  stats: { requests: 100, failures: 0, p50_ms: 100 },
  breaker: null,
  ...more,
});
/** Refunds are asked for: ant is near and slow, bee far and fast. */
const rivals = [
  member('ant', { stats: { requests: 100, failures: 0, p50_ms: 3_000 } }),
  member('bee', { topic: 2, stats: { requests: 100, failures: 0, p50_ms: 10 } }),
];
const changeOf = async (plan: Partial<Plan>, changes: object) => {
  const { listed } = await report([await logged({ ...plain, ...plan }, calm)], changes);
  return listed.map(({ before, after }) => `${before.agent_name ?? before.code} → ${after.agent_name ?? after.code}`);
};

test('other weights choose another agent, and the report says how many and by how much', async () => {
  const records = [
    await logged({ ...plain, agents: rivals }, calm),
    await logged({ ...plain, agents: [rivals[0]!] }, calm),
  ];
  expect(records.map((record) => record.chosen?.agent_name)).toEqual(['ant', 'ant']);
  const found = await report(records, { weights: { semantic_similarity: 0, latency_score: 1 } });
  expect(found).toMatchObject({
    decisions: 2,
    recomputed: 2,
    changed: 1,
    newly_refused: 0,
    agents: [
      { agent_name: 'ant', before: 2, after: 1, share_before: 1, share_after: 0.5 },
      { agent_name: 'bee', before: 0, after: 1, share_before: 0, share_after: 0.5 },
    ],
  });
  expect(found.listed[0]!.after.route_reason).toMatch(/bee takes help .* ahead of ant .*faster/);
  expect(found.score_change.max_absolute).toBeGreaterThan(0.1);
});

test('breakers are opened, closed, ignored, or let another share pass', async () => {
  const open = { states: [{ agent: 'ant', state: 'open' }] };
  expect(await changeOf({ agents: rivals }, { breakers: open })).toEqual(['ant → bee']);
  const held = [member('ant', { breaker: { share: 0, mark: null } }), rivals[1]!];
  for (const breakers of [{ ignore: true }, { states: [{ agent: 'ant#1.0.0', ability: 'help', state: 'closed' }] }])
    expect(await changeOf({ agents: held }, { breakers })).toEqual(['bee → ant']);
  expect(await changeOf({ agents: [held[0]!] }, { breakers: { ignore: true } })).toEqual(['circuit_open → ant']);
  expect(await changeOf({ agents: [rivals[0]!] }, { breakers: open })).toEqual(['ant → circuit_open']);
  const bypassed = [member('ant', { breaker: { share: 0.05, mark: 'bypass' } }), rivals[1]!];
  expect(await changeOf({ agents: bypassed }, { breakers: { bypass_share: 1 } })).toEqual(['bee → ant']);
});

test('another route table moves whom it should: sticky, and monotone in the weight', async () => {
  const versions = [member('ant'), member('ant', { version: '2.0.0' })];
  const routes = (canary: number) => [
    { ability: 'help', from: 'default', to: 'ant#1.0.0', weight: 100 - canary },
    { ability: 'help', from: 'default', to: 'ant#2.0.0', weight: canary },
  ];
  const records: LoggedDecision[] = [];
  for (let seed = 0; seed < 200; seed++)
    records.push(await logged({ ...plain, agents: versions, routes: routes(0), sticky: true, seed }, calm));
  const moved = async (weight: number) => {
    const { listed } = await replayAll(records, { changes: prepareChanges({ routes: routes(weight) }), limit: 1_000 });
    expect(listed.every(({ after }) => after.agent_version === '2.0.0')).toBe(true);
    return listed.map(({ decision_id }) => decision_id);
  };
  const [few, more] = [await moved(10), await moved(30)];
  expect(few.length).toBeGreaterThan(5);
  expect(few.length).toBeLessThan(40);
  expect(more).toEqual(expect.arrayContaining(few)); // whoever moved at 10 % has moved at 30 %
  expect(await moved(0)).toEqual([]);
  expect(await moved(100)).toHaveLength(200);
});

test('without an agent its calls go to the next, and other agents may come in its place', async () => {
  expect(await changeOf({ agents: rivals }, { without: ['ant'] })).toEqual(['ant → bee']);
  expect(await changeOf({ agents: rivals }, { without: ['ant#9.0.0'] })).toEqual([]);
  expect(await changeOf({ agents: rivals }, { without: ['ant', 'bee'] })).toEqual(['ant → ability_not_found']);
  const help = { name: 'help', description: 'refund of an order', examples: ['where is my refund'] };
  const descriptor = (name: string) => ({ name, version: '1.0.0', capabilities: [help] });
  expect(await changeOf({ agents: rivals }, { agents: [descriptor('ant')] })).toEqual([]);
  expect(await changeOf({ agents: rivals }, { agents: [descriptor('cow')] })).toEqual(['ant → cow']);
});

test('whoever was ready then is ready for a hand-over that had waited for another', async () => {
  const agents = [
    member('ant', { topic: 1, stats: null }),
    member('cat', { topic: 1, stats: { requests: 0, failures: 0, p50_ms: 1 }, ready: false }),
    member('dog', { ready: false, stats: null }),
  ];
  const asked: Plan = { ...plain, agents, mode: 'async', open: true };
  const record = await logged(asked, calm, wordCounter);
  expect(record).toMatchObject({ chosen: { agent_name: 'dog' }, inputs: { patient: true } });
  expect(record.inputs!.offers.map(({ was_ready }) => was_ready)).toEqual([true, undefined, undefined]);
  // Without the dog nobody waits: the cat, which is not ready, has no part in how the ant is scored.
  const { replayed, truth } = (await bothScores(
    asked,
    { ...asked, agents: agents.slice(0, 2) },
    { without: ['dog'] },
  ))!;
  expect(replayed).toBe(truth);
});

test('a hand-over that a breaker kept waiting goes through where breakers are ignored', async () => {
  const record = await logged(
    { ...plain, mode: 'async', agents: [member('ant', { breaker: { share: 0, mark: null } })] },
    calm,
  );
  expect(record.route_reason).toMatch(/waits until it may pass/);
  const replayed = await new Replayer(prepareChanges({ breakers: { ignore: true } })).replay(record);
  if (replayed.kind === 'unknown') throw new Error(replayed.reason);
  expect(replayed.after().route_reason).not.toMatch(/waits/);
});

test('what cannot be known is said, not guessed', async () => {
  const record = await logged({ ...plain, agents: rivals }, calm);
  const help = { name: 'help', description: 'something else' };
  const agents = ['ant', 'cow'].map((name) => ({ name, version: '1.0.0', capabilities: [help, 'other'] }));
  agents[1]!.capabilities = [{ name: 'help', description: 'yet another' }];
  const reasonOf = async (one: LoggedDecision, changes: object) =>
    (await report([one], changes)).not_recomputed.reasons.map(({ reason }) => reason);
  expect(await reasonOf(record, { agents })).toEqual([UNKNOWN.notCompared]);
  expect(await reasonOf({ ...record, inputs: undefined }, {})).toEqual([UNKNOWN.noInputs]);
  expect(await reasonOf({ ...record, strategy: 'fallback' }, {})).toEqual([UNKNOWN.fallback]);
  const inputs = { ...record.inputs!, text: undefined };
  expect(await reasonOf({ ...record, inputs }, { embeddings: { model: 'other' } })).toEqual([UNKNOWN.noText]);
});

test('bad changes are refused by pointer', () => {
  const pointersOf = (changes: object) => {
    try {
      prepareChanges(changes);
    } catch (caught) {
      return (caught as { options: { errors: { pointer: string }[] } }).options.errors.map(({ pointer }) => pointer);
    }
    return [];
  };
  expect(pointersOf({ weights: {} })).toEqual(['/weights']);
  expect(pointersOf({ breaker: {} })).toEqual(['/breaker']);
  expect(pointersOf({ agents: [{ name: 'ant', version: '1' }] })).toContain('/changes/agents/0/version');
  const route = (to: string, weight: unknown) => ({ ability: 'help', from: 'default', to, weight });
  expect(pointersOf({ routes: [route('ant#1.0.0', 0)] })).toEqual(['/changes/routes/0/weight']);
  expect(pointersOf({ routes: [route('ant#1.0.0', 1), route('ant#1.0.0', 2)] })).toEqual(['/changes/routes/1']);
  expect(pointersOf({ routes: [route('ant#banana', 1)] })).toEqual(['/routes/0/to']);
  expect(pointersOf({ routes: [route('ant#1.0.0', -1)] })).toEqual(['/routes/0/weight']);
});

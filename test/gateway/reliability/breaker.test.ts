/** Circuit breakers (R28) through the public surface: real gateways, a real agent behind HTTP. */
import type { BreakerItem } from '../../../src/protocol/breaker-override';
import type { Api, Answer } from '../../support/api';
import { startGateway, type TestGateway } from '../../support/gateway';
import { expectProblem } from '../../support/problem';
import { waitFor } from '../../support/wait-for';
import {
  breakerOf,
  broken,
  gate,
  inBatches,
  metric,
  ok,
  startStaged,
  tally,
  untilBreaker,
  type StagedAgent,
  type StagedDraft,
} from './support';

/** A dry run tells who would pass, and claims nothing. */
const isProbeDue = async (api: Api, ability: string): Promise<boolean> =>
  (await api.post('/v1/route', { ability, payload: {} })).body.agent_name !== null;

const QUICK = {
  breaker: {
    min_requests: 6,
    sustained_sec: 1,
    probe_interval_sec: 1,
    recovery_successes: 2,
    recovery_step_sec: 3_600,
  },
};

const agents: StagedAgent[] = [];
const gateways: TestGateway[] = [];
afterAll(async () => {
  await Promise.all(agents.map((agent) => agent.close()));
  await Promise.all(gateways.map((gateway) => gateway.close()));
});

async function open(...args: Parameters<typeof startGateway>): Promise<TestGateway> {
  const gateway = await startGateway(...args);
  gateways.push(gateway);
  return gateway;
}

async function stage(api: Api, draft: StagedDraft): Promise<StagedAgent> {
  const agent = await startStaged(api, draft);
  agents.push(agent);
  return agent;
}

/** Six calls that are inside together, and then fail together. */
async function sixFailuresAtOnce(api: Api, agent: StagedAgent, ability = agent.ability): Promise<Answer[]> {
  const door = gate();
  agent.plays(async () => {
    await door.opened;
    return broken;
  });
  const calls = Array.from({ length: 6 }, () => api.reach({ ability, target_agent: agent.name }));
  await waitFor('six calls at the agent', () => agent.visits.length === 6);
  door.open();
  return Promise.all(calls);
}

describe('a breaker in bypass', () => {
  it('lets one in twenty pass, marked, and sends the others to the next agent, or says when to come back', async () => {
    // By name, the sick one comes first whenever it may: what it missed in score would hide what the breaker does.
    const router = { enabled_factors: ['semantic_similarity'] };
    const { api } = await open({ config: { router, breaker: { min_requests: 10_000, bypass_successes: 1_000 } } });
    const shared = ['bypass.shared', 'bypass.lone'];
    const sick = await stage(api, { name: 'sick', capabilities: shared });
    const fit = await stage(api, { name: 'well', capabilities: ['bypass.shared'] });
    for (const ability of shared)
      expect(tally(await sixFailuresAtOnce(api, sick, ability))).toEqual({ agent_error: 6 });
    const item = await untilBreaker(api, 'bypass.shared', 'bypass', 'sick');
    expect(item).toMatchObject({ share: 0.05, error_rate: 1, requests: 6, reason: '6 of the last 6 calls failed' });
    const { body: view } = await api.get('/v1/agents/sick');
    expect(
      view.abilities.map(({ name, breaker }: { name: string; breaker: BreakerItem }) => [name, breaker.state]),
    ).toEqual([
      ['bypass.shared', 'bypass'],
      ['bypass.lone', 'bypass'],
    ]);

    sick.plays(() => ok);
    const answers = await inBatches(200, 20, () => api.reach({ ability: 'bypass.shared' }));
    expect(tally(answers)).toEqual({ 200: 200 });
    const passed = sick.visits;
    expect(passed.length).toBeGreaterThanOrEqual(1);
    expect(passed.length).toBeLessThan(40);
    for (const { call, headers } of passed) expect([call.bypass, headers['x-reach-bypass']]).toEqual([true, '1']);
    expect(fit.visits).toHaveLength(200 - passed.length);
    for (const { call, headers } of fit.visits)
      expect([call.bypass, headers['x-reach-bypass']]).toEqual([false, undefined]);
    const marked = answers.filter(({ body }) => body.agent_name === 'sick');
    for (const { body } of marked) expect(body.route_reason).toContain('passes its breaker as one of');

    sick.plays(() => ok);
    const alone = await inBatches(40, 8, () => api.reach({ ability: 'bypass.lone' }));
    const refused = alone.filter(({ status }) => status === 503);
    expect(sick.visits).toHaveLength(40 - refused.length);
    expect(refused.length).toBeGreaterThan(20);
    for (const answer of refused) {
      const problem = expectProblem(answer, 'circuit_open');
      expect(problem).toMatchObject({ degraded: true, retryable: true, diagnosis: { reason: 'breaker_open' } });
      expect(problem.retry_after_ms).toBeGreaterThan(0);
      expect(answer.headers['retry-after']).toMatch(/^\d+$/);
      expect(problem.diagnosis?.agents).toEqual([
        expect.objectContaining({ agent_name: 'sick', detail: expect.stringContaining('bypass since') }),
      ]);
    }
    expect(await metric(api, 'agent_reach_breakers{state="bypass"}')).toBe(2);
    expect(await metric(api, 'agent_reach_breaker_transitions_total{from="closed",to="bypass"}')).toBe(2);
  });

  it('closes after so many successes of the marked', async () => {
    const { api } = await open({
      config: { breaker: { min_requests: 10_000, bypass_successes: 4, bypass_share: 0.5, probe_interval_sec: 0.2 } },
    });
    const agent = await stage(api, { name: 'mending' });
    await sixFailuresAtOnce(api, agent);
    await untilBreaker(api, agent.ability, 'bypass');
    agent.plays(() => ok);
    await waitFor('the breaker closing', async () => {
      await api.reach({ ability: agent.ability });
      return (await breakerOf(api, agent.ability)).state === 'closed';
    });
    expect(agent.visits.filter(({ call }) => call.bypass).length).toBeGreaterThanOrEqual(4);
    agent.plays(() => ok);
    expect(tally(await inBatches(10, 5, () => api.reach({ ability: agent.ability })))).toEqual({ 200: 10 });
    expect(agent.visits.filter(({ call }) => call.bypass)).toEqual([]);
  });
});

describe('a breaker that opens', () => {
  it.each([
    ['regularly', undefined],
    ['on the fast path', true],
  ])(
    'lets one probe of the whole platform pass, recovers step by step, and holds one ability only, %s',
    async (_way, idempotent) => {
      const one = await open({ config: QUICK });
      const other = await open({ platform: one.platform, config: QUICK });
      const agent = await stage(one.api, { name: 'reader', capabilities: [{ name: 'ocr', idempotent }, 'translate'] });
      await waitFor(
        'the agent in the other view',
        async () => (await other.api.get('/v1/agents/reader')).status === 200,
      );
      await sixFailuresAtOnce(one.api, agent, 'ocr');
      for (const { api } of [one, other]) {
        await untilBreaker(api, 'ocr', 'open');
        expect(await metric(api, 'agent_reach_breakers{state="open"}')).toBe(1);
      }
      const refused = expectProblem(await other.api.reach({ ability: 'ocr' }), 'circuit_open');
      expect(refused).toMatchObject({ degraded: true, diagnosis: { reason: 'breaker_open' } });
      agent.plays(() => ok);
      expect((await one.api.reach({ ability: 'translate' })).status).toBe(200);
      expect((await breakerOf(other.api, 'translate')).state).toBe('closed');

      const door = gate();
      agent.plays(async () => {
        await door.opened;
        return ok;
      });
      for (const { api } of [one, other]) await waitFor('the probe being due', () => isProbeDue(api, 'ocr'));
      const answers: Answer[] = [];
      const calls = Array.from({ length: 50 }, async (_, n) => {
        const answer = await (n % 2 === 0 ? one : other).api.reach({ ability: 'ocr' });
        answers.push(answer);
      });
      await waitFor('all others being refused', () => answers.length === 49, 20_000);
      expect(tally(answers)).toEqual({ circuit_open: 49 });
      for (const { api } of [one, other]) await untilBreaker(api, 'ocr', 'half_open');
      expect(agent.visits).toHaveLength(1);
      expect([agent.visits[0]?.call.bypass, agent.visits[0]?.headers['x-reach-bypass']]).toEqual([true, '1']);
      door.open();
      await Promise.all(calls);
      expect(tally(answers)).toEqual({ circuit_open: 49, 200: 1 });
      expect(agent.visits).toHaveLength(1);

      for (const { api } of [one, other]) await untilBreaker(api, 'ocr', 'recovering');
      const steps: unknown[] = [];
      let turn = 0;
      await waitFor(
        'the recovery',
        async () => {
          const { state, share } = await breakerOf(other.api, 'ocr');
          const step = `${state} ${share}`;
          if (steps.at(-1) !== step) steps.push(step);
          if (state === 'closed') return true;
          // One at a time: a view that is a moment late must not miss a step, which takes two.
          await (turn++ % 2 === 0 ? one : other).api.reach({ ability: 'ocr' });
        },
        40_000,
      );
      expect(steps).toEqual(['recovering 0.1', 'recovering 0.25', 'recovering 0.5', 'closed 1']);
      agent.plays(() => ok);
      expect(tally(await inBatches(10, 5, () => other.api.reach({ ability: 'ocr' })))).toEqual({ 200: 10 });
      await untilBreaker(one.api, 'ocr', 'closed');
      expect((await one.api.get('/v1/breakers')).body).toEqual({ items: [] });

      const turned = async (from: string, to: string) => {
        const sample = `agent_reach_breaker_transitions_total{from="${from}",to="${to}"}`;
        return (await metric(one.api, sample)) + (await metric(other.api, sample));
      };
      expect(await turned('closed', 'bypass')).toBe(1);
      expect(await turned('bypass', 'open')).toBe(1);
      expect(await turned('open', 'half_open')).toBe(1);
      expect(await turned('half_open', 'recovering')).toBe(1);
      expect(await turned('recovering', 'closed')).toBe(1);
    },
  );

  it('opens again when the probe fails, and a success that was called before it opened does not close it', async () => {
    const { api } = await open({ config: QUICK });
    const agent = await stage(api, { name: 'relapsing' });
    const early = gate();
    const failures = gate();
    agent.plays(async ({ call }) => {
      if (call.payload.case === 'early') {
        await early.opened;
        return ok;
      }
      await failures.opened;
      return broken;
    });
    const held = api.reach({ ability: agent.ability, payload: { case: 'early' }, timeout_ms: 60_000 });
    const failing = Array.from({ length: 6 }, () => api.reach({ ability: agent.ability }));
    await waitFor('all calls at the agent', () => agent.visits.length === 7);
    failures.open();
    await Promise.all(failing);
    const { since } = await untilBreaker(api, agent.ability, 'open');
    early.open();
    expect((await held).status).toBe(200);
    expect(await breakerOf(api, agent.ability)).toMatchObject({ state: 'open', since });

    agent.plays(() => broken);
    await waitFor('a probe', async () => {
      await api.reach({ ability: agent.ability });
      return agent.visits.length > 0;
    });
    const again = await waitFor('the breaker being open again', async () => {
      const item = await breakerOf(api, agent.ability);
      return item.state === 'open' && item.since !== since ? item : null;
    });
    expect(again.reason).toBe('the probe failed');
    expect(agent.visits).toHaveLength(1);
  });

  it('stays closed for one failure after idleness', async () => {
    const { api } = await open({ config: { breaker: { ...QUICK.breaker, window_sec: 2 } } });
    const agent = await stage(api, { name: 'idle' });
    agent.plays(() => broken);
    for (let n = 0; n < 5; n += 1) await api.reach({ ability: agent.ability });
    await waitFor('the window being empty', async () => (await breakerOf(api, agent.ability)).requests === 0);
    expectProblem(await api.reach({ ability: agent.ability }), 'agent_error');
    expect(await breakerOf(api, agent.ability)).toMatchObject({ state: 'closed', requests: 1 });
    agent.plays(() => ok);
    expect((await api.reach({ ability: agent.ability })).status).toBe(200);
  });

  it('is not tripped by refusals, and by timeouts it is', async () => {
    const { api } = await open({ config: QUICK });
    const agent = await stage(api, { name: 'strict', endpoint: { timeout_ms: 4_000 } });
    agent.plays(() => ({ status: 422 }));
    expect(tally(await inBatches(12, 6, () => api.reach({ ability: agent.ability })))).toEqual({ agent_rejected: 12 });
    expect(await breakerOf(api, agent.ability)).toMatchObject({ state: 'closed', requests: 0 });
    agent.plays(() => new Promise(() => undefined));
    expect(tally(await inBatches(6, 6, () => api.reach({ ability: agent.ability })))).toEqual({ agent_timeout: 6 });
    await untilBreaker(api, agent.ability, 'open');
  });
});

describe('a breaker that opens while a reach is retried', () => {
  it('sends the retry to the next-best agent', async () => {
    const { api } = await open({
      config: { breaker: { ...QUICK.breaker, trip_failures: 1, trip_window: 1, min_requests: 1, sustained_sec: 0 } },
    });
    const first = await stage(api, { name: 'a_first', capabilities: ['again'], endpoint: { max_retry: 3 } });
    const second = await stage(api, { name: 'b_second', capabilities: ['again'] });
    first.plays(() => ({ ...broken, headers: { 'retry-after': '3' } }));
    const answer = await waitFor('a reach that began at the first', async () => {
      const one = await api.reach({ ability: 'again', timeout_ms: 20_000 });
      return first.visits.length > 0 ? one : null;
    });
    expect(answer.body).toMatchObject({ status: 'completed', agent_name: 'b_second', attempts: 2 });
    expect([first.visits.length, second.visits.length > 0]).toEqual([1, true]);
  });
});

describe('an operator', () => {
  it('holds a breaker open and closed by hand, on every gateway', async () => {
    const one = await open({ config: QUICK });
    const two = await open({ platform: one.platform, config: QUICK });
    const agent = await stage(one.api, { name: 'held' });
    const path = `/v1/agents/held/abilities/${agent.ability}/breaker`;
    await waitFor('the agent in the other view', async () => (await two.api.get('/v1/agents/held')).status === 200);
    expect((await one.api.put(path, { state: 'open', reason: 'maintenance' })).status).toBe(200);
    for (const { api } of [one, two]) {
      await untilBreaker(api, agent.ability, 'open');
      expect(expectProblem(await api.reach({ ability: agent.ability }), 'circuit_open').detail).toContain(
        'maintenance',
      );
    }
    expect(agent.visits).toHaveLength(0);
    expect(await metric(two.api, 'agent_reach_breakers{state="held"}')).toBe(1);

    const durable = { ability: agent.ability, mode: 'async', timeout_ms: 120_000, payload: { case: 'durable' } };
    const receipt = await one.api.reach(durable, { prefer: 'respond-async' });
    expect(receipt.status).toBe(202);
    expect(receipt.body.route_reason).toContain('so it waits until it may pass');

    await two.api.put(path, { state: 'closed', reason: 'it lies' });
    await untilBreaker(one.api, agent.ability, 'closed');
    expect((await two.api.ended(receipt.body.reach_id as string)).body.status).toBe('completed');
    expect(agent.visitsOf('durable').map(({ call }) => call.bypass)).toEqual([false]);
    expect(tally(await sixFailuresAtOnce(one.api, agent))).toEqual({ agent_error: 6 });
    agent.plays(() => ok);
    for (const { api } of [one, two]) expect((await api.reach({ ability: agent.ability })).status).toBe(200);
    // What was counted meanwhile holds again as soon as nobody holds it closed.
    expect((await one.api.delete(path)).status).toBe(200);
    await untilBreaker(two.api, agent.ability, 'open');
  });
});

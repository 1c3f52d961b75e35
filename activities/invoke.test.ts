/** The `invoke` activity in a mock environment: what counts as an attempt, and what travels from execution to execution. */
import { setTimeout as sleep } from 'node:timers/promises';
import { MockActivityEnvironment } from '@temporalio/testing';
import { ApplicationFailure } from '@temporalio/common';
import type { AdapterAnswer } from '../src/adapters';
import { ReachError } from '../src/protocol/reach-error';
import type { AgentCall, AttemptRecord } from '../src/protocol/shapes';
import { reachInput } from '../test/support/reach-input';
import type { InvokeFailure, InvokeInput, InvokeOutcome, Stale } from '../workflows/messages';
import { invoke } from './invoke';
import { fakeDependencies, invokeInput, type FakePlatform } from './test-support';

let platform: FakePlatform;
beforeEach(() => {
  platform = fakeDependencies();
});

const input = invokeInput;

interface Executed {
  outcome: InvokeOutcome | Stale | null;
  failure: ApplicationFailure | null;
  /** What the next execution is handed. */
  heartbeat: { attempts: AttemptRecord[]; turned_away: number; permit: number | null } | undefined;
}

/** One execution of the activity, as number `attempt`, with what the one before left. */
async function execute(call: InvokeInput, attempt = 1, heartbeatDetails?: unknown): Promise<Executed> {
  const environment = new MockActivityEnvironment({ attempt, heartbeatDetails });
  let heartbeat: Executed['heartbeat'];
  environment.on('heartbeat', (details) => (heartbeat = details as Executed['heartbeat']));
  try {
    const outcome = (await environment.run(() => invoke(platform.deps, call))) as InvokeOutcome | Stale;
    return { outcome, failure: null, heartbeat };
  } catch (caught) {
    if (!(caught instanceof ApplicationFailure)) throw caught;
    return { outcome: null, failure: caught, heartbeat };
  }
}

/** Executes as the server would: again and again while failures are retryable. */
async function executeToTheEnd(call: InvokeInput): Promise<Executed & { executions: number }> {
  let last: unknown;
  for (let attempt = 1; attempt <= 50; attempt += 1) {
    const executed = await execute(call, attempt, last);
    last = executed.heartbeat ?? last;
    if (!executed.failure || executed.failure.nonRetryable) return { ...executed, executions: attempt };
  }
  throw new Error('the server would go on for ever');
}

const problemOf = ({ failure }: Executed) => (failure?.details?.[0] as InvokeFailure).problem;
const attemptsOf = ({ failure }: Executed) => (failure?.details?.[0] as InvokeFailure).attempts;
const busy = new ReachError('agent_error', 'The agent answered 503: db down', { received: 'yes' });
const answer: AdapterAnswer = { kind: 'answer', output: { ok: true } };

describe('attempts', () => {
  it.each([0, 1, 2, 5])('%i retries: the agent sees exactly one more (T03)', async (retries) => {
    platform.agent.script(() => Promise.reject(busy));
    const ended = await executeToTheEnd(input({ retries }));
    expect(platform.agent.calls).toHaveLength(retries + 1);
    expect(platform.agent.calls.map(({ attempt }) => attempt)).toEqual(
      Array.from({ length: retries + 1 }, (_, i) => i + 1),
    );
    expect(attemptsOf(ended)).toHaveLength(retries + 1);
    expect(problemOf(ended)).toMatchObject({ code: 'agent_error' });
  });

  it('every attempt carries the same key and a greater fence', async () => {
    platform.agent.script(() => Promise.reject(busy));
    await executeToTheEnd(input());
    const seen = platform.agent.calls as AgentCall[];
    expect(new Set(seen.map(({ idempotency_key }) => idempotency_key))).toEqual(new Set(['key']));
    expect(seen.map(({ fence }) => fence)).toEqual(seen.map(({ fence }) => fence).toSorted());
    expect(new Set(seen.map(({ fence }) => fence)).size).toBe(4);
    expect(seen[0]?.fence).toBe('1767225600000000001');
  });

  it('a deterministic refusal is one attempt', async () => {
    platform.agent.script(() => Promise.reject(new ReachError('agent_rejected', '400', { received: 'yes' })));
    expect((await executeToTheEnd(input())).executions).toBe(1);
    expect(platform.permits.acquired).toBe(0);
  });
});

describe('a lost worker (W08)', () => {
  it('is an attempt whose fate is unknown, and the next one goes on from it', async () => {
    platform.agent.script(() => Promise.resolve(answer));
    const { outcome } = await execute(input(), 2);
    expect(outcome).toMatchObject({
      kind: 'answer',
      attempts: [{ n: 1, code: 'worker_lost', received: 'unknown' }, { n: 2 }],
    });
    expect(platform.agent.calls).toMatchObject([{ attempt: 2 }]);
  });

  it('a poison message ends as worker_lost after its limit, with every attempt told', async () => {
    const ended = await execute(input({ retries: 2 }), 4);
    expect(problemOf(ended)).toMatchObject({ code: 'worker_lost' });
    expect(attemptsOf(ended)).toHaveLength(3);
    expect(ended.failure?.nonRetryable).toBe(true);
    expect(platform.agent.calls).toEqual([]);
  });

  it('tells the server that it lives while etcd lets the decision wait', async () => {
    const told: unknown[] = [];
    const { acquire } = platform.deps.retryPermits;
    platform.deps.retryPermits.acquire = async (request) => {
      await sleep(1_300);
      told.push(...beats);
      return acquire(request);
    };
    const environment = new MockActivityEnvironment({ attempt: 2 });
    const beats: unknown[] = [];
    environment.on('heartbeat', (details) => beats.push(details));
    await environment.run(() => invoke(platform.deps, input()));
    // The first one at once: the execution after this one must not take it for another lost call.
    const lost = expect.objectContaining({ attempts: [expect.objectContaining({ code: 'worker_lost' })] });
    expect(told).toEqual([lost, lost]);
    expect((await execute(input(), 3, { ...(told[0] as object), turned_away: 1 })).outcome).toMatchObject({
      attempts: [{ n: 1, code: 'worker_lost' }, { n: 2 }],
    });
  });

  it('ends at once when its tree has no retry left: that does not pass, as the want of a slot does', async () => {
    platform.deps.tree.takeRetry = () => Promise.resolve(false);
    const ended = await execute(input({ tree: { run: 'root-run', limit: 0 } }), 2);
    expect(ended.failure?.nonRetryable).toBe(true);
    expect(problemOf(ended)).toMatchObject({
      code: 'retry_budget_exhausted',
      details: { retry_suppressed: 'tree' },
    });
    expect(attemptsOf(ended)).toMatchObject([{ code: 'worker_lost' }]);
  });

  it.each([
    ['at_most_once', { envelope: reachInput({ envelope: { delivery_semantics: 'at_most_once' } }).envelope }],
    ['not idempotent', { idempotent: false }],
    ['refused for good', {}],
  ])('%s: what was given up is so too where the answer that said it was lost', async (name, more) => {
    const failing = name === 'refused for good' ? new ReachError('agent_rejected', 'no', { received: 'yes' }) : busy;
    platform.agent.script(() => Promise.reject(failing));
    const first = await execute(input(more));
    expect(first.failure?.nonRetryable).toBe(true);
    for (const attempt of [2, 3]) {
      const again = await execute(input(more), attempt, first.heartbeat);
      expect(again.failure).toMatchObject({ nonRetryable: true, details: first.failure?.details });
    }
    expect(platform.agent.calls).toHaveLength(1);
  });

  it('what ends is not counted as a call again and again while its end does not arrive', async () => {
    const once = input({ idempotent: false });
    for (const attempt of [2, 3, 4]) expect(attemptsOf(await execute(once, attempt))).toHaveLength(1);
    const told = await execute(once, 2);
    expect(attemptsOf(await execute(once, 3, told.heartbeat))).toHaveLength(1);
    // All that was heard of the second one: that it knew of the first.
    const heard = { attempts: attemptsOf(told), turned_away: 0, permit: null };
    expect(attemptsOf(await execute(once, 3, heard))).toHaveLength(1);
  });

  it.each([
    ['at_most_once', { envelope: reachInput({ envelope: { delivery_semantics: 'at_most_once' } }).envelope }],
    ['not idempotent', { idempotent: false }],
  ])('%s is not sent twice', async (_name, more) => {
    const ended = await execute(input(more), 2);
    expect(problemOf(ended)).toMatchObject({ code: 'worker_lost' });
    expect(problemOf(ended).detail).toContain('may not be sent twice');
    expect((ended.failure?.details?.[0] as InvokeFailure).received).toBe('unknown');
  });
});

describe('slots of concurrent retries (R27)', () => {
  it('is taken with the decision, before the wait, handed on, and given back at the end', async () => {
    platform.agent.script(() => Promise.reject(busy));
    const first = await execute(input());
    expect(first.heartbeat).toMatchObject({ permit: 0 });
    expect(platform.permits.held.size).toBe(1);
    platform.agent.script(() => Promise.resolve(answer));
    await execute(input(), 2, first.heartbeat);
    expect(platform.permits.held.size).toBe(0);
  });

  it('none left: fails fast with the cause behind it (T11)', async () => {
    platform.permits.limit = 0;
    platform.agent.script(() => Promise.reject(busy));
    const ended = await executeToTheEnd(input());
    expect(platform.agent.calls).toHaveLength(1);
    expect(problemOf(ended)).toMatchObject({
      code: 'retry_budget_exhausted',
      degraded: true,
      last_error: { code: 'agent_error', message: 'The agent answered 503: db down' },
      details: { retry_suppressed: 'agent' },
    });
  });

  it('a lost worker is nobody’s fault at the agent: its calls wait for a slot instead of giving up', async () => {
    platform.permits.limit = 0;
    const waiting = await execute(input(), 2);
    expect(waiting.failure).toMatchObject({ nonRetryable: false, nextRetryDelay: 1_000 });
    expect(waiting.heartbeat).toMatchObject({ turned_away: 1, attempts: [{ code: 'worker_lost' }] });
    platform.permits.limit = 8;
    platform.agent.script(() => Promise.resolve(answer));
    const { outcome } = await execute(input(), 3, waiting.heartbeat);
    expect(outcome).toMatchObject({ kind: 'answer', attempts: [{ n: 1, code: 'worker_lost' }, { n: 2 }] });
  });

  it('is not kept asleep through a long Retry-After, but taken on waking, and waited for then', async () => {
    const away = new ReachError('agent_error', 'The agent answered 503', { received: 'yes', retryAfterMs: 10_800_000 });
    platform.agent.script(() => Promise.reject(away));
    const patient = input({ share_ms: 86_400_000 });
    const first = await execute(patient);
    expect(first.failure).toMatchObject({ nonRetryable: false, nextRetryDelay: 10_800_000 });
    expect([first.heartbeat?.permit, platform.permits.held.size]).toEqual([null, 0]);

    platform.permits.limit = 0;
    platform.agent.script(() => Promise.resolve(answer));
    const full = await execute(patient, 2, first.heartbeat);
    expect(full.failure).toMatchObject({ nonRetryable: false, nextRetryDelay: 1_000 });
    const stillFull = await execute(patient, 3, full.heartbeat);
    expect(stillFull.failure).toMatchObject({ nextRetryDelay: 2_000 });
    expect(platform.agent.calls).toHaveLength(1);

    platform.permits.limit = 1;
    const { outcome } = await execute(patient, 4, stillFull.heartbeat);
    expect(outcome).toMatchObject({ kind: 'answer', attempts: [{ n: 1, code: 'agent_error' }, { n: 2 }] });
    expect(platform.permits.held.size).toBe(0);
  });

  it('that ran out while its retry stood in the queue is not used: others may have it', async () => {
    platform.agent.script(() => Promise.reject(busy));
    const call = input({ envelope: reachInput({ envelope: { mode: 'async' } }).envelope });
    const first = await execute(call);
    platform.bulkheads.refuseWith = new ReachError('overloaded', 'full', { received: 'no', retryAfterMs: 40_000 });
    const queued = await execute({ ...call, share_ms: 60_000 }, 2, first.heartbeat);
    expect(queued.heartbeat).toMatchObject({ permit: 0, turned_away: 1 });
    platform.bulkheads.refuseWith = null;
    platform.permits.held.clear();
    platform.permits.limit = 0;
    const back = await execute(call, 3, queued.heartbeat);
    expect(back.failure).toMatchObject({ nonRetryable: false });
    expect(platform.agent.calls).toHaveLength(1);
  });

  it('not found in time ends with the cause behind it', async () => {
    platform.permits.limit = 0;
    const ended = await execute(input({ share_ms: 500, permit: null }));
    expect(problemOf(ended)).toMatchObject({
      code: 'retry_budget_exhausted',
      details: { retry_suppressed: 'agent' },
    });
    expect(platform.agent.calls).toHaveLength(0);
  });

  it('is given back when the last retry fails as well', async () => {
    platform.agent.script(() => Promise.reject(busy));
    await executeToTheEnd(input());
    expect(platform.permits.held.size).toBe(0);
  });
});

describe('turned away before the agent was called', () => {
  const overloaded = new ReachError('overloaded', 'full', { received: 'no', retryAfterMs: 100 });

  it('a sync reach learns it at once, without an attempt', async () => {
    platform.bulkheads.refuseWith = overloaded;
    const ended = await execute(input());
    expect(problemOf(ended)).toMatchObject({ code: 'overloaded' });
    expect(ended.failure?.nonRetryable).toBe(true);
    expect(attemptsOf(ended)).toEqual([]);
  });

  it('a worker that has no share to give lets the server try again', async () => {
    const extra = { details: { no_share: true } };
    platform.bulkheads.refuseWith = new ReachError('overloaded', 'none', { received: 'no', retryAfterMs: 400, extra });
    const ended = await execute(input());
    expect(ended.failure).toMatchObject({ nonRetryable: false, nextRetryDelay: 400 });
    expect(ended.heartbeat).toMatchObject({ turned_away: 1 });
  });

  it('a durable hand-over comes back later, as often as it takes, and uses up no retry', async () => {
    platform.bulkheads.refuseWith = overloaded;
    const call = input({ envelope: reachInput({ envelope: { mode: 'async' } }).envelope, retries: 0 });
    const first = await execute(call);
    expect(first.failure).toMatchObject({ nonRetryable: false, nextRetryDelay: 100 });
    expect(first.heartbeat).toMatchObject({ turned_away: 1, attempts: [] });
    const second = await execute(call, 2, first.heartbeat);
    expect(second.heartbeat).toMatchObject({ turned_away: 2 });
    platform.bulkheads.refuseWith = null;
    platform.agent.script(() => Promise.resolve(answer));
    const third = await execute(call, 3, second.heartbeat);
    expect(third.outcome).toMatchObject({ kind: 'answer', attempts: [{ n: 1 }] });
  });

  it('nor does it when others took the last places between its look and its call', async () => {
    const world = platform.deps.world();
    const full = world.agents.map((agent) => ({
      ...agent,
      instances: agent.instances.map((instance) => ({ ...instance, in_flight: 4 })),
    }));
    platform.deps.router.pickInstance = () => {
      platform.deps.world = () => ({ ...world, agents: full });
      return null;
    };
    const durable = input({ envelope: reachInput({ envelope: { mode: 'async' } }).envelope, retries: 0 });
    const ended = await execute(durable);
    expect(ended.failure).toMatchObject({ nonRetryable: false });
    expect(ended.heartbeat).toMatchObject({ turned_away: 1, attempts: [] });
    expect(problemOf(await execute(input()))).toMatchObject({ code: 'no_ready_instance' });
    platform.deps.world = () => ({ ...world, agents: world.agents.map((agent) => ({ ...agent, instances: [] })) });
    platform.deps.router.pickInstance = () => null;
    expect(problemOf(await execute(durable))).toMatchObject({ code: 'no_ready_instance' });
  });

  it('a breaker that opened since the decision makes it stale', async () => {
    platform.breakers.refuseWith = new ReachError('circuit_open', 'open', { received: 'no', retryAfterMs: 100 });
    expect((await execute(input({ confirm: true }))).outcome).toEqual({ kind: 'stale' });
    expect(problemOf(await execute(input()))).toMatchObject({ code: 'circuit_open' });
  });

  it('a breaker that opened after the first attempt ends the retries with the real error behind it', async () => {
    platform.agent.script(() => Promise.reject(busy));
    const first = await execute(input());
    platform.breakers.refuseWith = new ReachError('circuit_open', 'open', { received: 'no' });
    const ended = await execute(input(), 2, first.heartbeat);
    expect(problemOf(ended)).toMatchObject({ code: 'circuit_open', last_error: { code: 'agent_error' } });
    expect(attemptsOf(ended)).toHaveLength(1);
    expect(platform.permits.held.size).toBe(0);
  });
});

describe('what an attempt leaves behind', () => {
  it('places and breaker tickets come back whatever happens', async () => {
    for (const ending of [
      () => Promise.resolve(answer),
      () => Promise.reject(busy),
      () => Promise.reject(new Error('bug')),
    ]) {
      platform.agent.script(ending);
      await execute(input({ retries: 0 }));
    }
    expect(platform.bulkheads.inUse).toBe(0);
    expect(platform.breakers.entered).toBe(3);
    expect(platform.breakers.reported).toEqual(['ok', 'failure', 'neutral']);
  });

  it('marked traffic is marked for the agent', async () => {
    platform.agent.script(() => Promise.resolve(answer));
    await execute(input({ admission: 'bypass' }));
    expect(platform.agent.calls).toMatchObject([{ bypass: true }]);
  });
});

describe('a timeout', () => {
  const silent = () =>
    platform.agent.script(() => Promise.reject(new ReachError('agent_timeout', 'no answer', { received: 'unknown' })));

  it('counts against an agent that had its own timeout, or a second', async () => {
    silent();
    await execute(input({ retries: 0, timeout_ms: 100 }));
    await execute(input({ retries: 0, timeout_ms: 5_000, share_ms: 9_000 }));
    expect(platform.breakers.reported).toEqual(['failure', 'failure']);
  });

  it('says nothing about one whose caller was in a hurry', async () => {
    silent();
    await execute(input({ retries: 0, timeout_ms: 5_000, share_ms: 1_900 }));
    expect(platform.breakers.reported).toEqual(['neutral']);
  });
});

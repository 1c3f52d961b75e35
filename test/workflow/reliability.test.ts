/** What the reliability layer asks of the workflow: turned away is not called, grants are obeyed, fallbacks stand in. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApplicationFailure } from '@temporalio/common';
import type { ErrorCode } from '../../src/protocol/error-codes';
import { MAX_LOCAL_ATTEMPT_MS } from '../../src/protocol/limits';
import { ReachError } from '../../src/protocol/reach-error';
import type { AttemptRecord, Fallback } from '../../src/protocol/shapes';
import { agentTaskQueue } from '../../src/protocol/worker-wire';
import type { InvokeFailure, InvokeInput, ReachActivities, RouteInput, SettleInput } from '../../workflows/messages';
import { RETRY_WAIT_MS } from '../../src/registry/limits/patience';
import { reachInput, routedTo } from '../support/reach-input';
import { createTemporalBench, type TemporalBench } from '../support/temporal';
import { runsOn } from './runs';

let bench: TemporalBench;
let script: Partial<ReachActivities>;
let invoked: InvokeInput[];
let routes: RouteInput[];

beforeAll(async () => {
  bench = await createTemporalBench();
  const activities: ReachActivities = {
    route: async (input) => {
      routes.push(input);
      return script.route?.(input) ?? { stands: true };
    },
    awaitReady: () => Promise.reject(new Error('not scripted')),
    routeAndInvoke: async (input) => script.routeAndInvoke!(input),
    invoke: async (input) => {
      invoked.push(input);
      return script.invoke!(input);
    },
    awaitSilence: async (input) => script.awaitSilence?.(input),
    endChildren: async (input) => script.endChildren?.(input),
    settle: async (input) => script.settle!(input),
  };
  await bench.startWorker(activities);
});
afterAll(() => bench.close());
beforeEach(() => {
  script = {};
  invoked = [];
  routes = [];
});

const attempt = (input: Pick<InvokeInput, 'agent_name' | 'agent_version'>, more: Partial<AttemptRecord> = {}) => ({
  n: 1,
  agent_name: input.agent_name,
  agent_version: input.agent_version,
  instance: 'i-1',
  started_at: '2026-01-01T00:00:00.000Z',
  duration_ms: 1,
  received: 'yes' as const,
  ...more,
});

const failure = (code: ErrorCode, attempts: AttemptRecord[], more: Partial<InvokeFailure> = {}): InvokeFailure => ({
  kind: 'failed',
  problem: new ReachError(code, `failed with ${code}`).toProblem(),
  received: attempts.at(-1)?.received ?? 'no',
  attempts,
  ...more,
});

/** As the `invoke` activity fails. */
const thrown = (outcome: InvokeFailure): never => {
  throw ApplicationFailure.create({ type: outcome.problem.code, nonRetryable: true, details: [outcome] });
};

const answers = (input: InvokeInput) => ({
  kind: 'answer' as const,
  output: { from: input.agent_name },
  instance: 'i-1',
  attempts: [attempt(input)],
});

const failsWith =
  (code: ErrorCode, more: Partial<AttemptRecord> = {}) =>
  async (input: InvokeInput) =>
    thrown(failure(code, [attempt(input, { code, ...more })]));

const { start, run, failureOf } = runsOn(() => bench);

describe('turned away', () => {
  it.each(['circuit_open', 'overloaded'] as const)('%s moves on to the next agent, which is no retry', async (code) => {
    script.route = async ({ exclude }) =>
      exclude.length === 0 ? { stands: true } : { stands: false, routed: routedTo('second_agent') };
    script.invoke = async (input) => (input.agent_name === 'second_agent' ? answers(input) : thrown(failure(code, [])));
    const output = await run(reachInput({ envelope: { max_total_retries: 0 } }));
    expect(output).toMatchObject({ agent_name: 'second_agent', output: { from: 'second_agent' } });
    expect(output.attempts).toHaveLength(1);
    expect(routes.at(-1)?.exclude).toEqual(['echo_agent#1.0.0']);
  });

  it('also with at_most_once, since nobody was called', async () => {
    script.route = async ({ exclude }) =>
      exclude.length === 0 ? { stands: true } : { stands: false, routed: routedTo('second_agent') };
    script.invoke = async (input) =>
      input.agent_name === 'second_agent' ? answers(input) : thrown(failure('overloaded', []));
    const output = await run(reachInput({ envelope: { delivery_semantics: 'at_most_once' } }));
    expect(output.agent_name).toBe('second_agent');
  });

  it('with nobody else it is a dead letter that says what refused', async () => {
    script.route = async ({ exclude }) => {
      if (exclude.length === 0) return { stands: true };
      return thrown(failure('no_ready_instance', []));
    };
    script.invoke = async () => thrown(failure('circuit_open', []));
    const ended = await failureOf(reachInput());
    expect(ended).toMatchObject({ status: 'dead_lettered', problem: { code: 'circuit_open', degraded: true } });
    expect(ended.attempts).toEqual([]);
  });

  it('a retry that was suppressed fails fast instead of moving on', async () => {
    script.route = async () => ({ stands: false, routed: routedTo('second_agent') });
    script.invoke = failsWith('retry_budget_exhausted');
    const ended = await failureOf(reachInput());
    expect(ended.problem).toMatchObject({ code: 'retry_budget_exhausted', agent_name: 'echo_agent' });
  });
});

describe('the end of the time', () => {
  it('goes along with the budget of the tree, for those that make its retries', async () => {
    script.invoke = async (input) => answers(input);
    const handle = await start(reachInput());
    await handle.result();
    const { startTime, runId } = await handle.describe();
    // The start as the run itself is told is a few milliseconds after the one in lists.
    const { ends_ms: endsMs = 0, ...budget } = invoked[0]!.tree!;
    expect(budget).toEqual({ run: runId, limit: 10 });
    expect(Math.abs(endsMs - startTime.getTime() - 10_000)).toBeLessThan(1_000);
  });

  it('tells the attempt that was under way when the server ended it', async () => {
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    script.invoke = async (input) => {
      await ended;
      return answers(input);
    };
    try {
      const failed = await failureOf(reachInput({ envelope: { timeout_ms: 2_000 } }));
      expect(failed).toMatchObject({ status: 'expired', problem: { code: 'deadline_exceeded' } });
      expect(failed.attempts).toEqual([
        expect.objectContaining({ n: 1, instance: null, received: 'unknown', code: 'deadline_exceeded' }),
      ]);
    } finally {
      end();
    }
  });
});

describe('a decision about a retry that etcd holds up', () => {
  it('leaves the record of the attempt on the fast path', async () => {
    script.routeAndInvoke = async ({ proposed }) => {
      const { agent_name, agent_version } = proposed!.decision.chosen;
      const made = attempt({ agent_name, agent_version }, { code: 'agent_error' });
      // An attempt as long as may be, then a second each for the tree's budget and for a slot.
      await sleep(MAX_LOCAL_ATTEMPT_MS + 2 * RETRY_WAIT_MS);
      return { routed: null, outcome: failure('agent_error', [made], { next: { delay_ms: 1, permit: 5 } }) };
    };
    script.invoke = async (input) => answers(input);
    const routed = routedTo('echo_agent', { idempotent: true, timeout_ms: 5_000 });
    const { attempts } = await run(reachInput({ callerWaits: true, routed, envelope: { timeout_ms: 30_000 } }));
    expect(attempts).toMatchObject([{ code: 'agent_error' }, { instance: 'i-1' }]);
  }, 60_000);

  it('and is never made: a late failure comes again within the limits of its own reach', async () => {
    script.invoke = async (input) =>
      invoked.length === 1
        ? { kind: 'accepted' as const, instance: 'i-1', attempts: [attempt(input)] }
        : answers(input);
    script.settle = () => Promise.reject(ApplicationFailure.nonRetryable('no decision'));
    const handle = await start(reachInput());
    await handle.signal('result', {
      run_id: handle.firstExecutionRunId,
      attempt: 1,
      result: { error: { code: 'agent_error', message: 'db down' } },
    });
    expect(await handle.result()).toMatchObject({ status: 'completed', output: { from: 'echo_agent' } });
    expect(invoked).toHaveLength(2);
  });
});

describe('fallback (R30)', () => {
  const withFallback = (fallback: Fallback, target = {}) => ({
    routed: routedTo('echo_agent', { fallback, ...target }),
  });
  const nobodyElse: ReachActivities['route'] = async ({ exclude, envelope }) => {
    if (envelope.target_agent === 'spare_agent') return { stands: false, routed: routedTo('spare_agent') };
    if (exclude.length === 0) return { stands: true };
    return thrown(failure('no_ready_instance', []));
  };

  it.each(['agent_error', 'circuit_open', 'retry_budget_exhausted', 'worker_lost'] as const)(
    'a fixed answer stands in after %s and says so',
    async (code) => {
      script.route = nobodyElse;
      script.invoke = failsWith(code);
      const output = await run(reachInput(withFallback({ output: { answer: 'later' } })));
      expect(output).toMatchObject({ status: 'completed', output: { answer: 'later' }, degraded_by: code });
      expect(output.route_reason).toContain(`fallback answers because of ${code}`);
      expect(output.attempts).toHaveLength(1);
    },
  );

  it('another agent stands in, under its own name', async () => {
    script.route = nobodyElse;
    script.invoke = async (input) =>
      input.agent_name === 'spare_agent' ? answers(input) : failsWith('agent_error')(input);
    const output = await run(reachInput(withFallback({ agent: 'spare_agent' })));
    expect(output).toMatchObject({ agent_name: 'spare_agent', degraded_by: 'agent_error' });
    expect(output.attempts.map(({ agent_name }) => agent_name)).toEqual(['echo_agent', 'spare_agent']);
  });

  it('when it fails as well, the first failure has the word', async () => {
    script.route = nobodyElse;
    script.invoke = async (input) =>
      failsWith(input.agent_name === 'spare_agent' ? 'agent_rejected' : 'agent_error')(input);
    const ended = await failureOf(reachInput(withFallback({ agent: 'spare_agent' })));
    expect(ended.problem).toMatchObject({ code: 'agent_error', agent_name: 'echo_agent' });
    expect(ended.attempts).toHaveLength(2);
  });

  it('never for what the caller did wrong, nor while the work may have been done', async () => {
    script.route = nobodyElse;
    script.invoke = failsWith('agent_rejected');
    const fixed = { output: { answer: 'later' } };
    expect((await failureOf(reachInput(withFallback(fixed)))).problem.code).toBe('agent_rejected');
    script.invoke = failsWith('agent_timeout', { received: 'unknown' });
    const once = await failureOf(reachInput(withFallback(fixed, { idempotent: false })));
    expect(once.status).toBe('outcome_unknown');
  });

  it('a fixed answer that stood in at acceptance needs no activity at all', async () => {
    const routed = {
      ...routedTo('echo_agent'),
      stand_in: { because: 'circuit_open' as const, output: { answer: 'later' } },
    };
    const handle = await start(reachInput({ routed }));
    await expect(handle.result()).resolves.toMatchObject({
      output: { answer: 'later' },
      degraded_by: 'circuit_open',
      attempts: [],
    });
    const { events } = await handle.fetchHistory();
    expect(events).toHaveLength(5);
  });
});

describe('grants', () => {
  it('the fast path goes on as its activity decided, with the slot that it holds', async () => {
    script.routeAndInvoke = async ({ proposed }) => {
      const { agent_name, agent_version } = proposed!.decision.chosen;
      const made = attempt({ agent_name, agent_version }, { code: 'agent_error' });
      return { routed: null, outcome: failure('agent_error', [made], { next: { delay_ms: 1, permit: 5 } }) };
    };
    script.invoke = async (input) => answers(input);
    const routed = routedTo('echo_agent', { idempotent: true, timeout_ms: 1_000 });
    await run(reachInput({ callerWaits: true, routed }));
    expect(invoked).toMatchObject([{ permit: 5, attempts_before: 1 }]);
  });

  it('no grant, no retry, whatever the class', async () => {
    script.route = async ({ exclude }) =>
      exclude.length === 0 ? { stands: true } : thrown(failure('no_ready_instance', []));
    script.routeAndInvoke = async ({ proposed }) => {
      const { agent_name, agent_version } = proposed!.decision.chosen;
      const made = attempt({ agent_name, agent_version }, { code: 'agent_error' });
      return { routed: null, outcome: failure('retry_budget_exhausted', [made], { next: null }) };
    };
    const routed = routedTo('echo_agent', { idempotent: true, timeout_ms: 1_000 });
    const ended = await failureOf(reachInput({ callerWaits: true, routed }));
    expect(ended.problem.code).toBe('retry_budget_exhausted');
    expect(invoked).toEqual([]);
  });

  it('a pull agent that the fast path chose instead is called with the ticket that it took', async () => {
    const settled: SettleInput[] = [];
    const ticket = { mark: 'probe' as const, phase: 'p-1' };
    const pulled = routedTo('pull_agent', {
      protocol: 'worker',
      task_queue: `pulled-${randomUUID()}`,
      timeout_ms: 40,
    });
    script.route = async () => thrown(failure('no_ready_instance', []));
    script.routeAndInvoke = async () => ({ routed: pulled, outcome: null, ticket });
    script.settle = async (input) => {
      settled.push(input);
      return input.outcome.kind === 'failed' ? { ...input.outcome, next: null } : input.outcome;
    };
    const proposed = routedTo('echo_agent', { idempotent: true, timeout_ms: 1_000 });
    await failureOf(reachInput({ callerWaits: true, routed: proposed }));
    expect(settled.map(({ agent_name, ticket: told }) => [agent_name, told])).toEqual([['pull_agent', ticket]]);
  });

  it('a pull agent is retried while its settling grants it, with ticket and slot handed on', async () => {
    const settled: SettleInput[] = [];
    const ticket = { mark: 'probe' as const, phase: 'p-1' };
    script.route = async ({ exclude }) =>
      exclude.length === 0 ? { stands: true, ticket } : thrown(failure('no_ready_instance', []));
    script.settle = async (input) => {
      settled.push(input);
      if (input.outcome.kind !== 'failed') return input.outcome;
      return { ...input.outcome, next: settled.length < 3 ? { delay_ms: 1, permit: 2 } : null };
    };
    const queue = agentTaskQueue({ name: 'echo_agent', version: '1.0.0' });
    const target = {
      protocol: 'worker' as const,
      task_queue: `${queue}-${randomUUID()}`,
      timeout_ms: 40,
      max_retry: 9,
    };
    const ended = await failureOf(reachInput({ routed: routedTo('echo_agent', target) }));
    expect(ended.attempts.map(({ n }) => n)).toEqual([1, 2, 3]);
    expect(settled.map(({ retrying }) => retrying?.permit)).toEqual([null, 2, 2]);
    expect(settled.map(({ retrying }) => retrying?.retries_left)).toEqual([9, 8, 7]);
    expect(settled.map((one) => one.ticket)).toEqual([ticket, ticket, ticket]);
  });
});

import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import type { ErrorCode } from '../../src/protocol/error-codes';
import { ReachError } from '../../src/protocol/reach-error';
import type { AttemptRecord } from '../../src/protocol/shapes';
import {
  acceptedUpdate,
  resultSignal,
  type FastPathInput,
  type InvokeInput,
  type InvokeOutcome,
  type ReachActivities,
} from '../../workflows/messages';
import { reachInput, routedTo } from '../support/reach-input';
import { createTemporalBench, type TemporalBench } from '../support/temporal';
import { runsOn } from './runs';

let bench: TemporalBench;
let script: Partial<ReachActivities>;

const attempt = (input: InvokeInput, more: Partial<AttemptRecord> = {}): AttemptRecord => ({
  n: input.attempts_before + 1,
  agent_name: input.agent_name,
  agent_version: input.agent_version,
  instance: 'i-1',
  started_at: '2026-01-01T00:00:00.000Z',
  duration_ms: 1,
  received: 'yes',
  ...more,
});
/** The call that the fast path makes of its input. */
const firstCall = ({ proposed }: FastPathInput): InvokeInput =>
  ({ ...proposed!.decision.chosen, attempts_before: 0 }) as unknown as InvokeInput;
const answer = (input: InvokeInput): InvokeOutcome => ({
  kind: 'answer',
  output: { answer: input.agent_name },
  instance: 'i-1',
  attempts: [attempt(input)],
});
const failing = (input: InvokeInput, code: ErrorCode, received: 'no' | 'yes' | 'unknown' = 'yes'): InvokeOutcome => ({
  kind: 'failed',
  problem: new ReachError(code, `failed with ${code}`).toProblem(),
  received,
  attempts: [attempt(input, { code, received })],
});
const asThrown = (outcome: InvokeOutcome) =>
  ApplicationFailure.create({ type: 'agent_error', message: 'failed', nonRetryable: true, details: [outcome] });

beforeAll(async () => {
  bench = await createTemporalBench();
  const activities: ReachActivities = {
    route: async (input) => script.route?.(input) ?? { stands: true },
    awaitReady: async (input) => {
      if (!script.awaitReady) throw new Error('not scripted');
      return script.awaitReady(input);
    },
    routeAndInvoke: async (input) =>
      script.routeAndInvoke?.(input) ?? { routed: null, outcome: answer(firstCall(input)) },
    invoke: async (input) => script.invoke?.(input) ?? answer(input),
    awaitSilence: async (input) => script.awaitSilence?.(input),
    endChildren: async (input) => script.endChildren?.(input),
    settle: async ({ outcome }) => outcome,
  };
  await bench.startWorker(activities);
});
afterAll(() => bench.close());
beforeEach(() => {
  script = {};
});

const { start, run, failureOf } = runsOn(() => bench);

describe('reach', () => {
  it('completes with the answer of the agent that the gateway chose', async () => {
    await expect(run(reachInput())).resolves.toMatchObject({
      status: 'completed',
      agent_name: 'echo_agent',
      output: { answer: 'echo_agent' },
      decision_id: 'd-echo_agent',
      attempts: [{ n: 1 }],
    });
  });

  it('takes the local path, six events, for an idempotent ability with a waiting caller', async () => {
    const handle = await start(reachInput({ callerWaits: true, routed: routedTo('echo_agent', { idempotent: true }) }));
    await handle.result();
    const { events } = await handle.fetchHistory();
    expect(events).toHaveLength(6);
  });

  it.each([
    ['not declared idempotent', { idempotent: null, timeout_ms: 1_000 }, {}],
    ['longer than 5 s', { idempotent: true, timeout_ms: 6_000 }, { timeout_ms: 60_000 }],
    ['at_most_once', { idempotent: true, timeout_ms: 1_000 }, { delivery_semantics: 'at_most_once' as const }],
  ])('takes the regular path for an attempt that is %s', async (_name, target, envelope) => {
    script.routeAndInvoke = () => Promise.reject(new Error('must not be called'));
    await expect(
      run(reachInput({ callerWaits: true, envelope, routed: routedTo('echo_agent', target) })),
    ).resolves.toMatchObject({ status: 'completed' });
  });

  it('retries a failed local attempt on the regular path and numbers its attempts on', async () => {
    script.routeAndInvoke = async (input) => ({
      routed: null,
      outcome: failing(firstCall(input), 'agent_unavailable', 'no'),
    });
    const output = await run(
      reachInput({ callerWaits: true, routed: routedTo('echo_agent', { idempotent: true, timeout_ms: 1_000 }) }),
    );
    expect(output.attempts.map(({ n }) => n)).toEqual([1, 2]);
  });

  it('calls a newly chosen agent regularly when it does not fit the fast path', async () => {
    script.routeAndInvoke = async () => ({ routed: routedTo('slow_agent'), outcome: null });
    const output = await run(
      reachInput({ callerWaits: true, routed: routedTo('echo_agent', { idempotent: true, timeout_ms: 1_000 }) }),
    );
    expect(output).toMatchObject({ agent_name: 'slow_agent', attempts: [{ n: 1 }] });
  });

  it('ends at once when nobody fits any more on the fast path', async () => {
    let routings = 0;
    script.route = async () => ((routings += 1), { stands: true });
    const problem = new ReachError('no_ready_instance', 'nobody').toProblem();
    script.routeAndInvoke = () => Promise.reject(asThrown({ kind: 'failed', problem, received: 'no', attempts: [] }));
    const failure = await failureOf(
      reachInput({ callerWaits: true, routed: routedTo('echo_agent', { idempotent: true, timeout_ms: 1_000 }) }),
    );
    expect(failure.problem.code).toBe('no_ready_instance');
    expect(routings).toBe(0);
  });

  it('dead-letters a deterministic failure at once, with its code and attempts', async () => {
    script.invoke = async (input) => {
      throw asThrown(failing(input, 'agent_rejected'));
    };
    const failure = await failureOf(reachInput());
    expect(failure).toMatchObject({
      status: 'dead_lettered',
      problem: { code: 'agent_rejected', agent_name: 'echo_agent', retryable: false },
      attempts: [{ n: 1 }],
    });
  });

  it('moves on to the next agent after a transient failure', async () => {
    script.route = async ({ exclude }) =>
      exclude.length === 0 ? { stands: true } : { stands: false, routed: routedTo('second_agent') };
    script.invoke = async (input) => {
      if (input.agent_name === 'second_agent') return answer(input);
      throw asThrown(failing(input, 'agent_error'));
    };
    const output = await run(reachInput());
    expect(output.agent_name).toBe('second_agent');
    expect(output.attempts.map(({ agent_name, n }) => [n, agent_name])).toEqual([
      [1, 'echo_agent'],
      [2, 'second_agent'],
    ]);
  });

  it('keeps the real error when nobody else is left', async () => {
    script.route = async ({ exclude }) => {
      if (exclude.length === 0) return { stands: true };
      throw asThrown({
        kind: 'failed',
        problem: new ReachError('no_ready_instance', 'nobody').toProblem(),
        received: 'no',
        attempts: [],
      });
    };
    script.invoke = async (input) => {
      throw asThrown(failing(input, 'agent_error'));
    };
    await expect(failureOf(reachInput())).resolves.toMatchObject({ problem: { code: 'agent_error' } });
  });

  it('does not move on when max_total_retries is 0', async () => {
    const routed: string[][] = [];
    script.route = async ({ exclude }) => {
      routed.push(exclude);
      return { stands: true };
    };
    script.invoke = async (input) => {
      throw asThrown(failing(input, 'agent_error'));
    };
    await failureOf(reachInput({ envelope: { max_total_retries: 0 } }));
    expect(routed).toEqual([]);
  });

  it.each([
    ['at_most_once', { delivery_semantics: 'at_most_once' as const }, { idempotent: null }],
    ['idempotent: false', {}, { idempotent: false }],
  ])('ends as outcome_unknown when nobody can tell and %s forbids sending again', async (_name, envelope, target) => {
    script.invoke = async (input) => {
      throw asThrown(failing(input, 'agent_timeout', 'unknown'));
    };
    const failure = await failureOf(reachInput({ envelope, routed: routedTo('echo_agent', target) }));
    expect(failure.status).toBe('outcome_unknown');
  });

  it('decides anew when the decision does not stand, and shows the new agent in lists', async () => {
    script.route = async () => ({ stands: false, routed: routedTo('other_agent') });
    script.invoke = async (input) => (input.confirm ? { kind: 'stale' } : answer(input));
    const handle = await start(reachInput());
    await expect(handle.result()).resolves.toMatchObject({ agent_name: 'other_agent', decision_id: 'd-other_agent' });
    const { memo } = await handle.describe();
    expect(memo).toMatchObject({ agent_name: 'other_agent' });
  });

  it('waits for the result of an agent that accepted, and ignores one of another run or attempt', async () => {
    script.invoke = async (input) => ({ kind: 'accepted', instance: 'i-1', attempts: [attempt(input)] });
    const handle = await start(reachInput());
    const late = (run_id: string, n: number, text: string) =>
      handle.signal(resultSignal, { run_id, attempt: n, result: { output: { text } } });
    await late('another-run', 1, 'wrong run');
    await late(handle.firstExecutionRunId, 2, 'wrong attempt');
    await late(handle.firstExecutionRunId, 1, 'first');
    await late(handle.firstExecutionRunId, 1, 'second');
    await expect(handle.result()).resolves.toMatchObject({ output: { text: 'first' } });
  });

  it('expires when an accepted result never comes, with the deadline as code', async () => {
    script.invoke = async (input) => ({ kind: 'accepted', instance: 'i-1', attempts: [attempt(input)] });
    const failure = await failureOf(reachInput({ envelope: { timeout_ms: 3_000 } }));
    expect(failure).toMatchObject({
      status: 'expired',
      problem: { code: 'deadline_exceeded', last_error: { code: 'agent_timeout' } },
    });
  });

  it('ends cancelled when it is cancelled', async () => {
    script.invoke = async (input) => ({ kind: 'accepted', instance: 'i-1', attempts: [attempt(input)] });
    const handle = await start(reachInput());
    await handle.cancel();
    const error = await handle.result().catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(WorkflowFailedError);
    expect((error as WorkflowFailedError).cause).toBeInstanceOf(CancelledFailure);
  });

  it('answers the accepted update with the facts of acceptance', async () => {
    script.invoke = async (input) => ({ kind: 'accepted', instance: 'i-1', attempts: [attempt(input)] });
    const handle = await start(reachInput());
    await expect(handle.executeUpdate(acceptedUpdate)).resolves.toMatchObject({
      fingerprint: 'f',
      agent_name: 'echo_agent',
      request_id: 'd-echo_agent',
    });
    await handle.cancel();
  });

  it.each([
    ['at acceptance', false],
    ['any more when the worker looks', true],
  ])(
    'waits for an agent that is not ready %s, also when the caller waits for an idempotent ability',
    async (_when, ready) => {
      const target = { idempotent: true, timeout_ms: 1_000 };
      const waiting = { ...routedTo('echo_agent', target), ready: false };
      let awaited = 0;
      script.route = async () => ({ stands: false, routed: waiting });
      script.routeAndInvoke = async () => ({ routed: waiting, outcome: null });
      script.awaitReady = async () => ((awaited += 1), routedTo('echo_agent', target));
      const input = reachInput({ callerWaits: true, envelope: { mode: 'async' }, routed: { ...waiting, ready } });
      await expect(run(input)).resolves.toMatchObject({ status: 'completed' });
      expect(awaited).toBe(1);
    },
  );

  it('waits for an agent to be ready when the reach is asynchronous', async () => {
    const waiting = { ...routedTo('echo_agent'), ready: false };
    script.route = async () => ({ stands: false, routed: waiting });
    script.awaitReady = async () => routedTo('echo_agent');
    await expect(run(reachInput({ envelope: { mode: 'async' }, routed: waiting }))).resolves.toMatchObject({
      status: 'completed',
    });
  });
});

/**
 * The kinds of reaches whose histories are kept: each is run once against a real server with scripted activities, and
 * its history must replay in every later version (`RECORD_HISTORIES=1 npx jest test/replay` records those that are new).
 */
import { Context } from '@temporalio/activity';
import type { WorkflowHandle } from '@temporalio/client';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import type { ErrorCode } from '../../src/protocol/error-codes';
import { ReachError } from '../../src/protocol/reach-error';
import type { AttemptRecord } from '../../src/protocol/shapes';
import {
  acceptedUpdate,
  type REACH_WORKFLOW,
  resultSignal,
  type InvokeFailure,
  type InvokeInput,
  type InvokeOutcome,
  CALLBACK_WORKFLOW,
  type DeliverCallbackInput,
  type DeliveryActivities,
  type NotifyActivities,
  type ReachActivities,
  type ReachInput,
} from '../../workflows/messages';
import { PUBLISH_WORKFLOW, type PublishActivities, type PublishInput } from '../../workflows/publish-messages';
import { publishInput } from '../support/publish-input';
import { reachInput, routedTo } from '../support/reach-input';
import { waitFor } from '../support/wait-for';

/** One kind of reach. */
export interface Scenario {
  /** Workflow type; default `reach`. */
  workflow?: typeof REACH_WORKFLOW | typeof PUBLISH_WORKFLOW | typeof CALLBACK_WORKFLOW;
  input: ReachInput | PublishInput | DeliverCallbackInput;
  activities: Partial<ReachActivities & PublishActivities & NotifyActivities & DeliveryActivities>;
  /** What happens to the run from outside. */
  act?: (handle: WorkflowHandle) => Promise<void>;
}

function attempt(input: InvokeInput, more: Partial<AttemptRecord> = {}): AttemptRecord {
  const { agent_name, agent_version } = input;
  return {
    n: input.attempts_before + 1,
    agent_name,
    agent_version,
    instance: 'i-1',
    started_at: new Date().toISOString(),
    duration_ms: 4,
    received: 'yes',
    ...more,
  };
}

const answer = async (input: InvokeInput): Promise<InvokeOutcome> => ({
  kind: 'answer',
  output: { answer: 'ok' },
  instance: 'i-1',
  attempts: [attempt(input)],
});
const accepted = async (input: InvokeInput): Promise<InvokeOutcome> => ({
  kind: 'accepted',
  instance: 'i-1',
  attempts: [attempt(input)],
});

function failing(input: InvokeInput, code: ErrorCode): InvokeOutcome {
  const problem = new ReachError(code, `scripted ${code}`).toProblem();
  return { kind: 'failed', problem, received: 'yes', attempts: [attempt(input, { code, message: problem.detail })] };
}

/** The fast path: the proposed decision stands, and `attempt` is what becomes of it. */
const fast =
  (attemptIt: (input: InvokeInput) => Promise<InvokeOutcome>): ReachActivities['routeAndInvoke'] =>
  async ({ proposed }) => {
    const { agent_name, agent_version } = proposed!.decision.chosen;
    return { routed: null, outcome: await attemptIt({ agent_name, agent_version, attempts_before: 0 } as InvokeInput) };
  };

const throwing =
  (code: ErrorCode) =>
  async (input: InvokeInput): Promise<never> => {
    throw ApplicationFailure.create({
      type: code,
      message: `scripted ${code}`,
      nonRetryable: true,
      details: [failing(input, code)],
    });
  };

const turnedAway = (): never => {
  const problem = new ReachError('circuit_open', 'scripted circuit_open').toProblem();
  throw ApplicationFailure.create({
    type: 'circuit_open',
    nonRetryable: true,
    details: [{ kind: 'failed', problem, received: 'no', attempts: [] }],
  });
};

const idempotent = routedTo('echo_agent', { idempotent: true, timeout_ms: 1_000 });
const nobodyElse: ReachActivities['route'] = async ({ exclude }) => {
  if (exclude.length === 0) return { stands: true };
  const problem = new ReachError('no_ready_instance', 'nobody else').toProblem();
  throw ApplicationFailure.create({
    type: 'no_ready_instance',
    nonRetryable: true,
    details: [{ kind: 'failed', problem, received: 'no', attempts: [] }],
  });
};

/** Every failure is tried again at once. */
const granting: ReachActivities['settle'] = async ({ outcome }) =>
  outcome.kind === 'failed' ? { ...outcome, next: { delay_ms: 1, permit: 0 } } : outcome;

const callback = { url: 'https://example.com/hook' };
const delivery = (): DeliverCallbackInput => ({
  id: 'cb-1',
  reach_id: 'r-1',
  run_id: 'run',
  to: callback,
  delays_ms: [20, 20],
  timeout_ms: 1_000,
  max_age_ms: 10_000,
  task_queue: '',
});
const undelivered = async (): Promise<never> => {
  const { attempt } = Context.current().info;
  const detail = { attempts: attempt, message: 'The receiver answered 500', http_status: 500 };
  throw ApplicationFailure.create({
    type: 'undelivered',
    message: detail.message,
    nonRetryable: attempt > 2,
    details: [detail],
  });
};

export const SCENARIOS: Record<string, Scenario> = {
  'fast-path': {
    input: reachInput({ callerWaits: true, routed: idempotent }),
    activities: { routeAndInvoke: fast(answer) },
  },
  'fast-path-retried': {
    input: reachInput({ callerWaits: true, routed: idempotent }),
    activities: { routeAndInvoke: fast(async (input) => failing(input, 'agent_unavailable')), invoke: answer },
  },
  regular: { input: reachInput(), activities: { invoke: answer } },
  rejected: { input: reachInput(), activities: { invoke: throwing('agent_rejected') } },
  'dead-letter-after-retries': {
    input: reachInput(),
    activities: { invoke: throwing('agent_error'), route: nobodyElse },
  },
  'next-agent': {
    input: reachInput(),
    activities: {
      route: async ({ exclude }) =>
        exclude.length === 0 ? { stands: true } : { stands: false, routed: routedTo('second_agent') },
      invoke: async (input) => (input.agent_name === 'second_agent' ? answer(input) : throwing('agent_error')(input)),
    },
  },
  'decided-anew': {
    input: reachInput(),
    activities: {
      route: async () => ({ stands: false, routed: routedTo('other_agent') }),
      invoke: async (input) => (input.confirm ? { kind: 'stale' } : answer(input)),
    },
  },
  'late-result': {
    input: reachInput(),
    activities: { invoke: accepted },
    act: async (handle) => {
      const { runId } = await handle.describe();
      await handle.executeUpdate(acceptedUpdate);
      await handle.signal(resultSignal, { run_id: runId, attempt: 1, result: { output: { answer: 'late' } } });
    },
  },
  expired: { input: reachInput({ envelope: { timeout_ms: 300 } }), activities: { invoke: accepted } },
  cancelled: {
    input: reachInput(),
    activities: { invoke: accepted },
    act: async (handle) => void (await handle.cancel()),
  },
  'tree-cancelled': {
    input: reachInput(),
    activities: { invoke: accepted, endChildren: async () => undefined },
    act: async (handle) => void (await handle.cancel()),
  },
  'silent-agent': {
    input: reachInput({ routed: routedTo('echo_agent', { ack_timeout_ms: 200 }) }),
    activities: {
      invoke: async (input) => (input.attempts_before === 0 ? accepted(input) : answer(input)),
      awaitSilence: async () => undefined,
      settle: granting,
    },
  },
  'late-failure-again': {
    input: reachInput(),
    activities: {
      invoke: async (input) => (input.attempts_before === 0 ? accepted(input) : answer(input)),
      settle: granting,
    },
    act: async (handle) => {
      const { runId } = await handle.describe();
      const error = { code: 'agent_error' as const, message: 'scripted' };
      await handle.signal(resultSignal, { run_id: runId, attempt: 1, result: { error } });
    },
  },
  'async-waits-for-agent': {
    input: reachInput({ envelope: { mode: 'async' }, routed: { ...routedTo('echo_agent'), ready: false } }),
    activities: {
      route: async () => ({ stands: false, routed: { ...routedTo('echo_agent'), ready: false } }),
      awaitReady: async () => routedTo('echo_agent'),
      invoke: answer,
    },
  },
  'turned-away': {
    input: reachInput(),
    activities: {
      route: async ({ exclude }) =>
        exclude.length === 0 ? { stands: true } : { stands: false, routed: routedTo('second_agent') },
      invoke: async (input) => (input.agent_name === 'second_agent' ? answer(input) : turnedAway()),
    },
  },
  'fallback-fixed': {
    input: reachInput({ routed: routedTo('echo_agent', { fallback: { output: { answer: 'later' } } }) }),
    activities: { invoke: throwing('agent_error'), route: nobodyElse },
  },
  'fallback-agent': {
    input: reachInput({ routed: routedTo('echo_agent', { fallback: { agent: 'spare_agent' } }) }),
    activities: {
      invoke: async (input) => (input.agent_name === 'spare_agent' ? answer(input) : throwing('agent_error')(input)),
      route: async (input) =>
        input.envelope.target_agent === 'spare_agent'
          ? { stands: false, routed: routedTo('spare_agent') }
          : nobodyElse(input),
    },
  },
  'fallback-at-acceptance': {
    input: reachInput({
      routed: { ...routedTo('echo_agent'), stand_in: { because: 'circuit_open', output: { answer: 'later' } } },
    }),
    activities: {},
  },
  'fast-path-granted': {
    input: reachInput({ callerWaits: true, routed: idempotent }),
    activities: {
      routeAndInvoke: fast(async (input) => ({
        ...(failing(input, 'agent_unavailable') as InvokeFailure),
        next: { delay_ms: 20, permit: 1 },
      })),
      invoke: answer,
    },
  },
  'pull-agent-granted': {
    input: reachInput({ routed: routedTo('worker_agent', { protocol: 'worker', max_retry: 2 }) }),
    activities: {
      settle: async ({ outcome }) =>
        outcome.kind === 'failed' ? { ...outcome, next: { delay_ms: 20, permit: 1 } } : outcome,
    },
  },
  'cancelled-attempt': {
    input: reachInput(),
    activities: {
      invoke: async (input) => {
        const { cancellationSignal, heartbeat } = Context.current();
        const beating = setInterval(() => heartbeat(), 200);
        await new Promise((stopped) => cancellationSignal.addEventListener('abort', stopped, { once: true }));
        clearInterval(beating);
        throw new CancelledFailure('The reach was cancelled', [
          { attempts: [attempt(input, { code: 'reach_terminal' })] },
        ]);
      },
    },
    act: async (handle) => {
      await waitFor('the attempt', async () =>
        ((await handle.describe()).raw.pendingActivities ?? []).some((one) => Number(one.state) === 2),
      );
      await handle.cancel();
    },
  },
  'pull-agent-retried': {
    input: reachInput({ routed: routedTo('worker_agent', { protocol: 'worker', max_retry: 2 }) }),
    activities: {},
  },
  publish: {
    workflow: PUBLISH_WORKFLOW,
    input: publishInput(120),
    activities: {
      deliverEvent: async ({ from, count }) => ({
        started: count,
        unrouted: from === 50 ? [{ subscription: 's-00051', reach_id: 'r-51', code: 'agent_not_found' }] : [],
        failed: [],
      }),
    },
  },
  told: {
    input: reachInput({ envelope: { callback } }),
    activities: { invoke: answer, notify: async () => undefined },
  },
  'told-dead-letter': {
    input: reachInput({ envelope: { callback, reply_to: { workflow_id: 'order-1', signal: 'answered' } } }),
    activities: { invoke: throwing('agent_rejected'), notify: async () => undefined },
  },
  'told-cancelled': {
    input: reachInput({ envelope: { callback } }),
    activities: { invoke: accepted, endChildren: async () => undefined, notify: async () => undefined },
    act: async (handle) => void (await handle.cancel()),
  },
  'told-in-vain': {
    input: reachInput({ envelope: { callback } }),
    activities: {
      invoke: answer,
      notify: async () => {
        throw ApplicationFailure.nonRetryable('Temporal does not take it');
      },
    },
  },
  callback: {
    workflow: CALLBACK_WORKFLOW,
    input: delivery(),
    activities: { deliver: async () => (Context.current().info.attempt < 2 ? undelivered() : { attempts: 2 }) },
  },
  'callback-given-up': { workflow: CALLBACK_WORKFLOW, input: delivery(), activities: { deliver: undelivered } },
};

/** The workflow's part of R4: after an unclear attempt `exactly_once` asks nobody else. */
import { randomUUID } from 'node:crypto';
import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { Worker } from '@temporalio/worker';
import { ReachError } from '../../src/protocol/reach-error';
import type { DeliverySemantics } from '../../src/protocol/shapes';
import type { InvokeInput, ReachActivities, ReachFailure, ReachOutput } from '../../workflows/messages';
import { reachInput, routedTo } from '../support/reach-input';
import { createTemporalBench, workflowBundle, type TemporalBench } from '../support/temporal';

type Received = 'no' | 'yes' | 'unknown';

let bench: TemporalBench;
let received: Received;
let invoked: string[];

const attempt = ({ agent_name, agent_version }: InvokeInput) => ({
  n: invoked.length,
  agent_name,
  agent_version,
  instance: null,
  started_at: '2026-01-01T00:00:00.000Z',
  duration_ms: 1,
});

beforeAll(async () => {
  bench = await createTemporalBench();
  const activities: Partial<ReachActivities> = {
    route: async ({ exclude, envelope }) => {
      if (envelope.target_agent === 'spare_agent') return { stands: false, routed: routedTo('spare_agent') };
      return exclude.length === 0 ? { stands: true } : { stands: false, routed: routedTo('second_agent') };
    },
    invoke: async (input) => {
      invoked.push(input.agent_name);
      const made = attempt(input);
      if (input.agent_name !== 'echo_agent')
        return { kind: 'answer', output: {}, instance: null, attempts: [{ ...made, received: 'yes' }] };
      const problem = new ReachError('agent_unavailable', 'gone').toProblem();
      const failure = { kind: 'failed', problem, received, attempts: [{ ...made, received, code: problem.code }] };
      throw ApplicationFailure.create({ type: problem.code, nonRetryable: true, details: [failure] });
    },
  };
  await bench.startWorker(activities);
});
afterAll(() => bench.close());
beforeEach(() => {
  invoked = [];
});

async function run(delivery_semantics: DeliverySemantics, target: object = {}) {
  const handle = await bench.client.workflow.start('reach', {
    workflowId: `r-${randomUUID()}`,
    taskQueue: bench.taskQueue,
    args: [reachInput({ envelope: { delivery_semantics }, routed: routedTo('echo_agent', target) })],
  });
  const end = await handle.result().catch((caught: unknown) => {
    if (!(caught instanceof WorkflowFailedError) || !(caught.cause instanceof ApplicationFailure)) throw caught;
    return caught.cause.details?.[0] as ReachFailure;
  });
  return { handle, end: end as ReachOutput | ReachFailure };
}

it.each<[DeliverySemantics, Received, string[], string]>([
  ['exactly_once', 'unknown', ['echo_agent'], 'dead_lettered'],
  ['exactly_once', 'yes', ['echo_agent'], 'dead_lettered'],
  ['exactly_once', 'no', ['echo_agent', 'second_agent'], 'completed'],
  ['at_least_once', 'unknown', ['echo_agent', 'second_agent'], 'completed'],
  ['at_most_once', 'unknown', ['echo_agent'], 'outcome_unknown'],
])('%s, received: %s → %j, %s', async (semantics, fate, agents, status) => {
  received = fate;
  const { end } = await run(semantics);
  expect([invoked, end.status]).toEqual([agents, status]);
});

it.each<[Received, string[]]>([
  ['unknown', ['echo_agent']],
  ['no', ['echo_agent', 'second_agent']],
])('with a fallback agent, received: %s → %j', async (fate, agents) => {
  received = fate;
  await run('exactly_once', { fallback: { agent: 'spare_agent' } });
  expect(invoked).toEqual(agents);
});

it.each<[DeliverySemantics, Received, number]>([
  ['exactly_once', 'unknown', 1],
  ['exactly_once', 'no', 0],
  ['at_least_once', 'unknown', 0],
])('%s, received: %s leaves %i patch markers, and its history replays', async (semantics, fate, markers) => {
  received = fate;
  const { handle } = await run(semantics);
  const history = await handle.fetchHistory();
  const patches = (history.events ?? []).filter(
    ({ markerRecordedEventAttributes }) => markerRecordedEventAttributes?.markerName === 'core_patch',
  );
  expect(patches).toHaveLength(markers);
  await Worker.runReplayHistory({ workflowBundle: workflowBundle() }, history, handle.workflowId);
});

import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils';
import { ApplicationFailure } from '@temporalio/common';
import { Worker } from '@temporalio/worker';
import { temporal } from '@temporalio/proto';
import { REACH_WORKFLOW, type ReachActivities } from '../../workflows/messages';
import { hopsFromHistory } from '../../src/telemetry/trace-from-history';
import { createTemporalBench, workflowBundle } from '../support/temporal';
import { SCENARIOS, type Scenario } from './scenarios';

const FOLDER = join(__dirname, 'histories');
const load = (name: string): Record<string, unknown> => JSON.parse(readFileSync(join(FOLDER, `${name}.json`), 'utf8'));

/** Runs a scenario against the real server and writes its history down. */
async function record(name: string, { workflow = REACH_WORKFLOW, input, activities, act }: Scenario): Promise<void> {
  const bench = await createTemporalBench();
  let pulls = 0;
  try {
    await bench.startWorker({
      route: async () => ({ stands: true }),
      settle: async ({ outcome }: Parameters<ReachActivities['settle']>[0]) => outcome,
      // The pull scenario's agent polls the same task queue: it fails once, then answers.
      invoke: async () => {
        pulls += 1;
        if (pulls === 1)
          throw ApplicationFailure.create({ type: 'agent_error', message: 'first try', nonRetryable: true });
        return { output: { answer: 'pulled' }, instance: 'w-1', received_at: new Date().toISOString() };
      },
      ...activities,
    });
    if ('routed' in input && input.routed.target.protocol === 'worker')
      input.routed.target.task_queue = bench.taskQueue;
    if ('task_queue' in input) input.task_queue = bench.taskQueue;
    const handle = await bench.client.workflow.start(workflow, {
      workflowId: `record-${name}-${randomUUID()}`,
      taskQueue: bench.taskQueue,
      args: [input],
    });
    await act?.(handle);
    await handle.result().catch(() => undefined);
    writeFileSync(
      join(FOLDER, `${name}.json`),
      `${JSON.stringify(JSON.parse(historyToJSON(await handle.fetchHistory())), null, 1)}\n`,
    );
  } finally {
    await bench.close();
  }
}

const recorded = () => readdirSync(FOLDER).map((file) => file.replace('.json', ''));

// Only what is new: a history once recorded stands for the runs of the code that wrote it.
if (process.env.RECORD_HISTORIES === '1') {
  describe('recording', () => {
    const missing = Object.entries(SCENARIOS).filter(([name]) => !recorded().includes(name));
    it.each(missing)('%s', (name, scenario) => record(name, scenario));
  });
}

describe('replay of recorded histories', () => {
  it('has a history of every kind of reach', () => {
    expect(recorded().sort()).toEqual(Object.keys(SCENARIOS).sort());
  });

  it.each(Object.keys(SCENARIOS))('%s replays without a difference', async (name) => {
    await Worker.runReplayHistory({ workflowBundle: workflowBundle() }, load(name));
  });

  it('fails on a history that this code would not have written', async () => {
    const history = load('regular') as { events: Record<string, Record<string, Record<string, unknown>>>[] };
    for (const event of history.events) {
      if (event.activityTaskScheduledEventAttributes)
        event.activityTaskScheduledEventAttributes.activityType = { name: 'somethingElse' };
    }
    await expect(Worker.runReplayHistory({ workflowBundle: workflowBundle() }, history)).rejects.toThrow(
      /nondeterminism|TMPRL1100/i,
    );
  });
});

describe('the trace of recorded histories', () => {
  const hopsOf = (name: string) => {
    const { events } = temporal.api.history.v1.History.fromObject(normalise(load(name)));
    return hopsFromHistory(events);
  };

  it.each([
    ['fast-path', ['route:ok', 'accept:ok', 'invoke:ok']],
    ['fast-path-retried', ['route:ok', 'accept:ok', 'invoke:agent_unavailable', 'queue:ok', 'invoke:ok']],
    ['regular', ['route:ok', 'accept:ok', 'queue:ok', 'invoke:ok']],
    ['rejected', ['route:ok', 'accept:ok', 'queue:ok', 'invoke:agent_rejected']],
    ['next-agent', ['route:ok', 'accept:ok', 'queue:ok', 'invoke:agent_error', 'route:ok', 'queue:ok', 'invoke:ok']],
    ['late-result', ['route:ok', 'accept:ok', 'queue:ok', 'invoke:ok', 'wait_result:ok']],
    ['told', ['route:ok', 'accept:ok', 'queue:ok', 'invoke:ok', 'notify:ok']],
    ['told-dead-letter', ['route:ok', 'accept:ok', 'queue:ok', 'invoke:agent_rejected', 'notify:ok']],
    ['told-in-vain', ['route:ok', 'accept:ok', 'queue:ok', 'invoke:ok', 'notify:failed']],
    ['expired', ['route:ok', 'accept:ok', 'queue:ok', 'invoke:ok', 'wait_result:expired']],
    [
      'pull-agent-retried',
      ['route:ok', 'accept:ok', 'route:ok', 'queue:ok', 'invoke:agent_error', 'queue:ok', 'invoke:ok'],
    ],
  ])('%s', (name, expected) => {
    const hops = hopsOf(name);
    expect(hops.map((hop) => `${hop.name}:${hop.outcome}`)).toEqual(expected);
    for (const hop of hops) expect(hop.duration_ms).toBeGreaterThanOrEqual(0);
  });
});

/** Recorded JSON has enum names and ISO times; what the trace reads of them is turned back into the wire's form. */
function normalise(history: Record<string, unknown>): Record<string, unknown> {
  return JSON.parse(JSON.stringify(history), (key, value: unknown) => {
    if (key === 'eventTime' && typeof value === 'string') {
      return { seconds: Math.floor(Date.parse(value) / 1000), nanos: (Date.parse(value) % 1000) * 1e6 };
    }
    return key === 'eventType' ||
      key.endsWith('Timeout') ||
      key.endsWith('Type') ||
      key === 'retryState' ||
      key.endsWith('Backoff') ||
      key === 'taskQueue' ||
      key.endsWith('Interval')
      ? dropUnlessName(value)
      : value;
  }) as Record<string, unknown>;
}

/** `activityType` is an object with a name and stays; enums and durations are not read and go. */
function dropUnlessName(value: unknown): unknown {
  return value !== null && typeof value === 'object' && 'name' in value ? value : undefined;
}

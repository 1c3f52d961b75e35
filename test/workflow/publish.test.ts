import { randomUUID } from 'node:crypto';
import { ApplicationFailure } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { MAX_EVENT_BYTES } from '../../src/protocol/limits';
import { readSubscribers, writeSubscribers } from '../../src/protocol/subscriber-list';
import {
  PUBLISH_WORKFLOW,
  type DeliverInput,
  type PublishInput,
  type PublishOutput,
} from '../../workflows/publish-messages';
import { acceptedEvent, publishInput } from '../support/publish-input';
import { createTemporalBench, type TemporalBench } from '../support/temporal';

let bench: TemporalBench;
let served: string[] = [];
let fail: (input: DeliverInput) => void = () => undefined;

beforeAll(async () => {
  bench = await createTemporalBench();
  await bench.startWorker({
    deliverEvent: async (input: DeliverInput) => {
      fail(input);
      const batch = readSubscribers(input.subscribers).slice(input.from, input.from + input.count);
      served.push(...batch.map(({ id }) => id));
      const lost = batch.filter(({ id }) => id.endsWith('7'));
      const unrouted = lost.map(({ id }) => ({ subscription: id, reach_id: `r-${id}`, code: 'agent_not_found' }));
      return { started: batch.length, unrouted, failed: [] };
    },
  });
});
afterAll(() => bench.close());
beforeEach(() => {
  served = [];
  fail = () => undefined;
});

async function run(
  input: PublishInput,
): Promise<{ output: PublishOutput; runs: { events: number; largest: number }[] }> {
  const workflowId = `e-${randomUUID()}`;
  const { client, taskQueue } = bench;
  const memo = { fingerprint: 'f' };
  const handle = await client.workflow.start(PUBLISH_WORKFLOW, { workflowId, taskQueue, args: [input], memo });
  const output = (await handle.result()) as PublishOutput;
  const runs: { events: number; largest: number }[] = [];
  for (let runId: string | undefined = handle.firstExecutionRunId; runId !== undefined;) {
    const of = client.workflow.getHandle(workflowId, runId);
    expect((await of.describe()).memo).toEqual(memo);
    const events: temporal.api.history.v1.IHistoryEvent[] = (await of.fetchHistory()).events ?? [];
    const sizes = events.map((one) => temporal.api.history.v1.HistoryEvent.encode(one).finish().byteLength);
    runs.push({ events: events.length, largest: Math.max(...sizes) });
    runId = events.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId ?? undefined;
  }
  return { output, runs };
}

it('serves everybody once, in order, and counts who is in trouble', async () => {
  const { output, runs } = await run(publishInput(120));
  const ids = readSubscribers(publishInput(120).subscribers).map(({ id }) => id);
  expect(served).toEqual(ids);
  expect(output).toMatchObject({ matched: 120, started: 120, unrouted_count: 12, failed: [], failed_count: 0 });
  expect(output.unrouted[0]).toEqual({ subscription: 's-00007', reach_id: 'r-s-00007', code: 'agent_not_found' });
  expect(runs).toHaveLength(1);
});

it('goes on in a new run before its history is long, with everybody served once over all runs', async () => {
  const { output, runs } = await run(publishInput(230, { fan_out: { batch: 10, batches_per_run: 4 } }));
  expect(served).toEqual(readSubscribers(publishInput(230).subscribers).map(({ id }) => id));
  expect(output).toMatchObject({ matched: 230, started: 230, unrouted_count: 23 });
  expect(runs).toHaveLength(6);
  for (const { events } of runs) expect(events).toBeLessThan(20);
});

it('names at most a hundred in trouble and counts them all', async () => {
  const { output } = await run(publishInput(1_500));
  expect([output.unrouted.length, output.unrouted_count]).toEqual([100, 150]);
});

it('writes no event over 256 KiB, whatever fits an event and a list, one by one and together', async () => {
  const id = (n: number) => `${randomUUID()}-${randomUUID()}`.slice(0, 58) + String(n).padStart(6, '0');
  const list = Array.from({ length: 2_000 }, (_, n) => ({ id: id(n), agent: `agent_${n % 7}`.padEnd(64, 'x') }));
  const subscribers = writeSubscribers(list);
  const event = acceptedEvent({ payload: { text: 'x'.repeat(MAX_EVENT_BYTES - 1_000) } });
  const { output, runs } = await run(
    publishInput(0, { event, subscribers, fan_out: { batch: 50, batches_per_run: 15 } }),
  );
  expect(served).toEqual(list.map((one) => one.id));
  expect(output.matched).toBe(2_000);
  expect(runs.length).toBeGreaterThan(1);
  for (const { largest } of runs) expect(largest).toBeLessThan(262_144);
});

it('tries a batch again until it goes through', async () => {
  let tries = 0;
  fail = ({ from }) => {
    if (from === 50 && (tries += 1) < 4)
      throw ApplicationFailure.create({ type: 'engine_unavailable', message: 'scripted', nonRetryable: false });
  };
  const { output } = await run(publishInput(100));
  expect(tries).toBe(4);
  expect([output.started, new Set(served).size, served.length]).toEqual([100, 100, 100]);
});

/**
 * Many subscribers, and many events. Scaled down for every run; the whole size with
 * `FAN_OUT_SUBSCRIBERS=1000 FAN_OUT_EVENTS=11000 npx jest test/pubsub/fan-out`.
 */
import { Client, Connection } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { publishId } from '../../src/protocol/identity';
import { startGateway, type TestGateway } from '../support/gateway';
import { startHttpAgent, type ScriptedHttpAgent } from '../support/scripted-http-agent';
import { temporalAddress } from '../support/temporal';
import { waitFor } from '../support/wait-for';
import { eventOf, publish, subscribe, topicOf } from './support';

const SUBSCRIBERS = Number(process.env.FAN_OUT_SUBSCRIBERS ?? 200);
const EVENTS = Number(process.env.FAN_OUT_EVENTS ?? 100);
/** Each delivery carries the whole event. */
const TEXT_CHARS = Number(process.env.FAN_OUT_TEXT_CHARS ?? 1_000);
const PATIENCE_MS = 60_000 + 200 * (SUBSCRIBERS + EVENTS);
jest.setTimeout(2 * PATIENCE_MS);

const MAX_EVENTS = 1_000;
const MAX_EVENT_BYTES = 262_144;

let gateway: TestGateway;
let agents: ScriptedHttpAgent[];
let connection: Connection;

beforeAll(async () => {
  // Hundreds at once in one process: none of them is to be given up for being made again.
  const config = { backpressure: { max_in_flight: 1_000 }, retry: { concurrent_per_agent: 1_000 } };
  gateway = await startGateway({ config });
  agents = await Promise.all(
    ['fan-a', 'fan-b', 'fan-c', 'fan-d'].map((name) =>
      startHttpAgent(gateway.api, { name, descriptor: { max_concurrency: 100 } }),
    ),
  );
  connection = await Connection.connect({ address: temporalAddress() });
});
afterAll(async () => {
  await Promise.all(agents.map((agent) => agent.close()));
  await gateway.close();
  await connection.close();
});
beforeEach(() => agents.forEach((agent) => agent.plays()));

/** What came, each reach once: a worker that stalls for seconds on a busy machine counts as lost, and its call is made again. */
const seen = () => {
  const calls = agents.flatMap(({ journal }) => journal.map(({ call }) => call));
  return [...new Map(calls.map((call) => [call.reach_id, call])).values()];
};

/** Sizes of the history of one publish: every run of it. */
async function historyOf(event: { id: string; source: string }): Promise<{ events: number; largestBytes: number }> {
  const workflowId = publishId({ tenant: 'default', source: event.source, key: event.id, by: 'id' });
  const { events } = await new Client({ connection }).workflow.getHandle(workflowId).fetchHistory();
  const sizes = (events ?? []).map((one) => temporal.api.history.v1.HistoryEvent.encode(one).finish().byteLength);
  return { events: sizes.length, largestBytes: Math.max(...sizes) };
}

async function inTurns<T>(items: T[], atOnce: number, run: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (let item = queue.shift(); item !== undefined; item = queue.shift()) await run(item);
    }),
  );
}

it(`serves each of ${SUBSCRIBERS} subscribers of one event exactly once, in a small history`, async () => {
  const topic = topicOf('fan-out');
  const ids = Array.from({ length: SUBSCRIBERS }, (_, n) => `subscriber-${String(n).padStart(5, '0')}`);
  await inTurns(ids, 20, async (id) => {
    const agent = agents[Number(id.slice(-1)) % agents.length]!.name;
    await subscribe(gateway.api, id, { topic, agent });
  });
  const event = eventOf({ data: { text: 'x'.repeat(TEXT_CHARS) } });
  const started = performance.now();
  const { status, body } = await publish(gateway.api, topic, event);
  const answeredMs = performance.now() - started;
  expect([status, body.matched, new Set(body.reach_ids).size]).toEqual([202, SUBSCRIBERS, SUBSCRIBERS]);
  await waitFor('all deliveries', () => seen().length >= SUBSCRIBERS, PATIENCE_MS);
  const deliveredMs = performance.now() - started;
  await inTurns([...(body.reach_ids as string[])], 20, async (id) => {
    const { status: end, error } = (await gateway.api.ended(id)).body;
    expect([end, error]).toEqual(['completed', undefined]);
  });
  expect(
    seen()
      .map(({ event: via }) => via?.subscription_id)
      .toSorted(),
  ).toEqual(ids);
  const history = await historyOf(event);
  expect(history.events).toBeLessThan(MAX_EVENTS);
  expect(history.largestBytes).toBeLessThan(MAX_EVENT_BYTES);
  if (process.env.FAN_OUT_SUBSCRIBERS)
    process.stdout.write(`${SUBSCRIBERS} subscribers: ${JSON.stringify({ ...history, answeredMs, deliveredMs })}\n`);
});

it(`keeps every history small while ${EVENTS} events go to one subscription, each delivered once`, async () => {
  const topic = topicOf('stream');
  await subscribe(gateway.api, 'stream', { topic, agent: agents[0]!.name });
  const events = Array.from({ length: EVENTS }, (_, n) => eventOf({ data: { n } }));
  const started = performance.now();
  await inTurns(events, 20, async (event) => {
    expect((await publish(gateway.api, topic, event)).body.matched).toBe(1);
  });
  await waitFor('all deliveries', () => seen().length >= EVENTS, PATIENCE_MS);
  const tookMs = performance.now() - started;
  expect(
    seen()
      .map(({ payload }) => payload.n as number)
      .toSorted((a, b) => a - b),
  ).toEqual(events.map((_, n) => n));
  const some = events.filter((_, n) => n % Math.ceil(EVENTS / 20) === 0);
  const histories = await Promise.all(some.map(historyOf));
  expect(Math.max(...histories.map(({ events: count }) => count))).toBeLessThan(30);
  if (process.env.FAN_OUT_EVENTS)
    process.stdout.write(`${EVENTS} events: ${JSON.stringify({ tookMs, perRun: histories[0] })}\n`);
});

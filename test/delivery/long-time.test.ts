/** W12: a day of a reach in seconds; all its decisions are in workflow time, and replay alike. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WorkflowFailedError, type Client } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker, type NativeConnection } from '@temporalio/worker';
import { createActivities } from '../../activities/create-activities';
import { fakeDependencies } from '../../activities/test-support';
import { createDispatcher, HttpAdapter } from '../../src/adapters';
import { ensureEngine } from '../../src/engines';
import { parseEgressAllow } from '../../src/policy/egress';
import type { InstanceState } from '../../src/protocol/shapes';
import { SEARCH_ATTRIBUTES } from '../../workflows/search-attributes';
import type { ReachFailure, ReachInput, ReachOutput } from '../../workflows/messages';
import { reachInput, routedTo } from '../support/reach-input';
import { createTemporalBench, workflowBundle } from '../support/temporal';

/** A server with a clock, and how long an "hour" is on it. */
interface Place {
  client: Client;
  connection: NativeConnection;
  nowMs(): Promise<number>;
  hourMs: number;
  close(): Promise<void>;
}

async function timeSkipping(): Promise<Place> {
  workflowBundle(); // sets the runtime up, which can be done once
  const { path } = await ensureEngine('temporal-test-server');
  const env = await TestWorkflowEnvironment.createTimeSkipping({
    server: { executable: { type: 'existing-path', path } },
  });
  await env.connection.operatorService
    .addSearchAttributes({ namespace: 'default', searchAttributes: searchAttributeTypes() })
    .catch(() => undefined);
  return {
    client: env.client,
    connection: env.nativeConnection,
    nowMs: () => env.currentTimeMs(),
    hourMs: 3_600_000,
    close: () => env.teardown(),
  };
}

/** The test server takes keywords only; what a reach upserts are keywords. */
function searchAttributeTypes(): Record<string, number> {
  return Object.fromEntries(Object.keys(SEARCH_ATTRIBUTES).map((name) => [name, 2]));
}

async function devServer(): Promise<Place> {
  const bench = await createTemporalBench();
  return {
    client: bench.client,
    connection: bench.connection,
    nowMs: () => Promise.resolve(performance.now()),
    hourMs: 1_000,
    close: () => bench.close(),
  };
}

describe.each([
  ['the time-skipping server', timeSkipping],
  ['a real server, an hour a second', devServer],
])('on %s', (name, open) => {
  let place: Place;
  let worker: Worker;
  let running: Promise<void>;
  let startWorker: () => Promise<void>;
  let agent: Server;
  let adapter: HttpAdapter;
  let calls: number[];
  /** Unavailable until then, in the server's time; for ever when null. */
  let upAt: number | null;
  let hangs: boolean;
  let accepts: boolean;
  const taskQueue = `long-time-${name.length}-${process.pid}`;

  beforeAll(async () => {
    place = await open();
    agent = createServer((_request, response) => {
      void place.nowMs().then((now) => {
        calls.push(now);
        if (hangs) return;
        if (accepts)
          return void response.writeHead(202, { 'content-type': 'application/json' }).end('{"accepted":true}');
        const up = upAt !== null && now >= upAt;
        const headers = {
          'content-type': 'application/json',
          ...(!up && { 'retry-after': String(place.hourMs / 1_000) }),
        };
        response.writeHead(up ? 200 : 503, headers).end(up ? '{"answer":"up"}' : '{"error":"db down"}');
      });
    });
    await new Promise<void>((resolve) => agent.listen(0, '127.0.0.1', resolve));
    const egress = parseEgressAllow(['127.0.0.0/8']);
    const dispatcher = createDispatcher({ egress, connectionsPerOrigin: 8, onConnect: () => undefined });
    adapter = new HttpAdapter({ dispatcher, egress, readToken: () => undefined, onRequest: () => undefined });
    const { deps } = fakeDependencies();
    const host = `http://127.0.0.1:${(agent.address() as AddressInfo).port}/`;
    const [version] = deps.world().agents;
    const instance: InstanceState = { ...version!.instances[0]!, host };
    startWorker = async () => {
      worker = await Worker.create({
        connection: place.connection,
        taskQueue,
        workflowBundle: workflowBundle(),
        activities: createActivities({
          ...deps,
          router: { ...deps.router, pickInstance: () => instance },
          adapters: new Map([['http' as const, adapter]]),
        }),
      });
      running = worker.run();
    };
    await startWorker();
  });
  beforeEach(() => {
    calls = [];
    hangs = false;
    accepts = false;
    upAt = null;
  });

  afterAll(async () => {
    if (worker.getState() === 'RUNNING') worker.shutdown();
    await running;
    await adapter.close();
    agent.closeAllConnections();
    agent.close();
    await place.close();
  });

  let serial = 0;
  async function run(input: ReachInput) {
    serial += 1;
    const startedMs = await place.nowMs();
    const realMs = performance.now();
    const handle = await place.client.workflow.start('reach', {
      workflowId: `long-${process.pid}-${name.length}-${serial}`,
      taskQueue,
      args: [input],
      // As the gateway starts it.
      workflowRunTimeout: input.envelope.timeout_ms + 10_000,
    });
    const end = (await handle.result().catch((caught: unknown) => {
      if (!(caught instanceof WorkflowFailedError) || !(caught.cause instanceof ApplicationFailure)) throw caught;
      return caught.cause.details?.[0];
    })) as ReachOutput | ReachFailure;
    const tookMs = performance.now() - realMs;
    const { startTime, closeTime } = await handle.describe();
    return { handle, end, startedMs, tookMs, passedMs: Number(closeTime) - Number(startTime) };
  }
  const dayLong = (target: object, hours = 24) =>
    reachInput({
      envelope: { mode: 'async', timeout_ms: hours * place.hourMs },
      routed: routedTo('echo_agent', target),
    });

  async function replays(handle: Awaited<ReturnType<typeof run>>['handle']): Promise<void> {
    const history = await handle.fetchHistory();
    for (let i = 0; i < 10; i += 1)
      await Worker.runReplayHistory({ workflowBundle: workflowBundle() }, history, handle.workflowId);
  }

  it('an agent that is away until hour 3 is asked again when it said, and answers', async () => {
    upAt = (await place.nowMs()) + 3 * place.hourMs;
    const { handle, end, startedMs, tookMs } = await run(dayLong({ max_retry: 5 }));
    expect(end).toMatchObject({ status: 'completed', output: { answer: 'up' } });
    const codes = end.attempts.map(({ code }) => code);
    expect(codes.slice(0, -1).every((code) => code === 'agent_error')).toBe(true);
    expect([codes.at(-1), codes.length]).toEqual([undefined, calls.length]);
    // A busy machine may be late for the small hours of the real server, never early; skipped time is exact.
    if (place.hourMs > 1_000) expect(calls).toHaveLength(4);
    calls.slice(1).forEach((at, n) => expect(at - calls[n]!).toBeGreaterThanOrEqual(0.99 * place.hourMs));
    expect(calls.at(-1)! - startedMs).toBeGreaterThanOrEqual(2.99 * place.hourMs);
    expect(tookMs).toBeLessThan(20_000);
    await replays(handle);
  });

  it('an agent that accepts and then says nothing costs the whole time of the reach', async () => {
    accepts = true;
    const hours = place.hourMs > 1_000 ? 24 : 4;
    const { handle, end, tookMs, passedMs } = await run(dayLong({}, hours));
    expect(end).toMatchObject({
      status: 'expired',
      problem: { code: 'deadline_exceeded', last_error: { code: 'agent_timeout' } },
    });
    expect(passedMs / place.hourMs).toBeGreaterThanOrEqual(hours * 0.99);
    // The small hours of the real server pass while a busy machine ends it.
    expect(passedMs / place.hourMs).toBeLessThan(hours + (place.hourMs > 1_000 ? 2 : 12));
    expect(tookMs).toBeLessThan(20_000);
    await replays(handle);
  });

  it('an agent that hangs uses its attempts up, each no longer than it may', async () => {
    hangs = true;
    const { handle, end, tookMs } = await run(dayLong({ max_retry: 2, timeout_ms: 1_500 }));
    expect(end).toMatchObject({ status: 'dead_lettered', problem: { code: 'agent_timeout' } });
    expect([end.attempts.length, calls.length]).toEqual([3, 3]);
    expect(tookMs).toBeLessThan(20_000);
    await replays(handle);
  });

  // The time-skipping server stands still while an activity waits in a queue: there this would take its real 3 hours.
  const itOnRealServer = name.startsWith('a real') ? it : it.skip;
  itOnRealServer('a queue that nobody reads costs half of each attempt, and no more', async () => {
    const target = {
      protocol: 'worker' as const,
      task_queue: `${taskQueue}-nobody`,
      timeout_ms: 4 * place.hourMs,
      max_retry: 2,
    };
    const { handle, end, tookMs, passedMs } = await run(dayLong(target));
    expect(end).toMatchObject({ status: 'dead_lettered', problem: { code: 'agent_unavailable' } });
    expect(end.attempts).toHaveLength(3);
    expect(passedMs / place.hourMs).toBeGreaterThan(5.9);
    expect(passedMs / place.hourMs).toBeLessThan(12);
    expect(tookMs).toBeLessThan(20_000);
    await replays(handle);
  });

  it('the worker ends within 5 s afterwards', async () => {
    const startedMs = performance.now();
    worker.shutdown();
    await running;
    const tookMs = performance.now() - startedMs;
    // Tests that are run once more come after this one.
    await startWorker();
    expect(tookMs).toBeLessThan(5_000);
  });
});

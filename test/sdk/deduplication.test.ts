/** Deliveries that come twice (R4, R7), at agents over HTTP whose platform keeps its records on a real etcd. */
import { randomUUID } from 'node:crypto';
import type { DeduplicationComplete } from '../../src/protocol/deduplication';
import type { JsonObject } from '../../src/protocol/shapes';
import { PlatformDeduplication } from '../../src/registry/deduplication';
import { AgentRejected, ReachAgent, type AgentHandler, type AgentOptions } from '../../src/sdk/agent';
import { openPlace, type Place } from '../registry/support';
import { problem, ScriptedGateway, type Reply, type Seen } from './scripted-gateway';
import { call, echoDescriptor, quietLog, ScriptedRegistry } from './scripted-registry';

const DAY_MS = 86_400_000;

let place: Place;
let gateway: ScriptedGateway;
let agents: ReachAgent[];
/** Answers in place of the store while it returns something. */
let interfere: (verb: string, nth: number) => Reply | undefined;
let log: ReturnType<typeof quietLog>;

beforeAll(() => (place = openPlace()));
afterAll(() => place.close());
beforeEach(async () => {
  interfere = () => undefined;
  agents = [];
  log = quietLog();
  gateway = await startPlatform();
});
afterEach(async () => {
  await Promise.all(agents.map((agent) => agent.stop()));
  await gateway.close();
});

/** A gateway that is a registry, and a deduplication store on etcd of its own. */
function startPlatform(): Promise<ScriptedGateway> {
  const registry = new ScriptedRegistry();
  const store = new PlatformDeduplication({ ...place.options, keyPrefix: `/test-${randomUUID()}` });
  return ScriptedGateway.start(async (seen, nth) => {
    const [, name = '', verb] = /agents\/([^/]+)\/deduplication:(begin|complete)$/.exec(seen.path) ?? [];
    if (verb !== 'begin' && verb !== 'complete') return registry.answer(seen);
    const { ttl_ms: ttlMs, ...rest } = seen.json ?? {};
    const request = { ...rest, ttlMs } as DeduplicationComplete;
    return interfere(verb, nth) ?? { status: 200, body: await store[verb](name, request) };
  });
}

/** An instance of the agent. */
async function serve(handler: AgentHandler, options: Partial<AgentOptions> = {}): Promise<ReachAgent> {
  const agent = new ReachAgent({
    descriptor: echoDescriptor('http', { max_concurrency: 8 }),
    gateway: gateway.url,
    handlers: { echo: handler },
    log,
    ...options,
  });
  agents.push(agent);
  await agent.start();
  return agent;
}

async function deliver(agent: ReachAgent, more: object = {}, signal?: AbortSignal) {
  const response = await fetch(agent.url ?? '', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(call(more)),
    signal,
  });
  return { status: response.status, body: (await response.json()) as JsonObject };
}

/** A handler that counts its runs and answers with their number; `act` may hold or fail the n-th. */
function counting(act: (nth: number) => unknown = () => undefined) {
  const counted = { runs: 0 };
  const handler: AgentHandler = async () => {
    const run = (counted.runs += 1);
    await act(run);
    return { run };
  };
  return Object.assign(counted, { handler });
}

/** Something to wait for. */
function gate() {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

const fence = (attempt: number) => `1767225600000${String(attempt).padStart(6, '0')}`;
const exactly = (attempt: number) => ({ delivery_semantics: 'exactly_once', attempt, fence: fence(attempt) });
const asked = (verb: string): Seen[] => gateway.requests('POST', new RegExp(`:${verb}$`));
const logged = (level: string, text: string) =>
  log.lines.filter((line) => line.level === level && line.message.includes(text));
const DOWN = problem('engine_unavailable', 503);

describe('at_least_once', () => {
  it('runs once when the answer is lost: the redelivery gets the recorded one', async () => {
    const [begun, release] = [gate(), gate()];
    const work = counting(() => (begun.open(), release.opened));
    const agent = await serve(work.handler);
    const caller = new AbortController();
    const lost = deliver(agent, { attempt: 1 }, caller.signal);
    await begun.opened;
    caller.abort();
    await expect(lost).rejects.toThrow();
    release.open();
    await gateway.until(() => asked('complete').length === 1);
    expect(await deliver(agent, { attempt: 2, fence: fence(2) })).toEqual({ status: 200, body: { run: 1 } });
    expect(work.runs).toBe(1);
  });

  it('says in the log that an answer is a recorded one', async () => {
    const agent = await serve(counting().handler);
    await deliver(agent);
    expect(logged('info', 'answered from the deduplication store')).toEqual([]);
    await deliver(agent, { reach_id: 'r-2' });
    expect(logged('info', 'answered from the deduplication store')).toMatchObject([{ fields: { reach_id: 'r-2' } }]);
  });

  it.each([
    ['that failed', () => new Error('the disk is full'), 500],
    ['that was rejected', () => new AgentRejected('no such ticket'), 422],
  ])('does not take a first try %s for a duplicate', async (_, error, status) => {
    const work = counting((nth) => {
      if (nth === 1) throw error();
    });
    const agent = await serve(work.handler);
    expect((await deliver(agent)).status).toBe(status);
    expect((await deliver(agent)).body).toEqual({ run: 2 });
    expect((await deliver(agent)).body).toEqual({ run: 2 });
    expect(work.runs).toBe(2);
  });

  it('shares the record between instances', async () => {
    const [here, there] = [counting(), counting()];
    const [first, second] = [await serve(here.handler), await serve(there.handler)];
    await deliver(first);
    expect((await deliver(second)).body).toEqual({ run: 1 });
    expect([here.runs, there.runs]).toEqual([1, 0]);
  });

  it('goes by the business key, not by the message or the reach', async () => {
    const work = counting();
    const agent = await serve(work.handler);
    await deliver(agent, { message_id: 'm-1', reach_id: 'r-1' });
    expect((await deliver(agent, { message_id: 'm-2', reach_id: 'r-2' })).body).toEqual({ run: 1 });
    expect((await deliver(agent, { idempotency_key: 'k-2' })).body).toEqual({ run: 2 });
  });

  it('takes message ids for unique within their sender only', async () => {
    const agent = await serve(counting().handler);
    const keyless = (source_agent: string) =>
      deliver(agent, { message_id: '1', idempotency_key: '1', source_agent }).then(({ body }) => body.run);
    expect([await keyless('a'), await keyless('b'), await keyless('a')]).toEqual([1, 2, 1]);
  });

  it('lets deliveries that meet share one run', async () => {
    const [begun, release] = [gate(), gate()];
    const work = counting(() => (begun.open(), release.opened));
    const agent = await serve(work.handler);
    const first = deliver(agent);
    await begun.opened;
    const second = deliver(agent, { attempt: 2, fence: fence(2) });
    await until(() => agent.inFlight === 2);
    release.open();
    expect([(await first).body, (await second).body]).toEqual([{ run: 1 }, { run: 1 }]);
    expect(work.runs).toBe(1);
  });

  it('runs again for a delivery that waited for a run that failed', async () => {
    const [begun, release] = [gate(), gate()];
    const work = counting(async (nth) => {
      if (nth > 1) return;
      begun.open();
      await release.opened;
      throw new Error('lost its database');
    });
    const agent = await serve(work.handler);
    const first = deliver(agent);
    await begun.opened;
    const others = [deliver(agent), deliver(agent)];
    await until(() => agent.inFlight === 3);
    release.open();
    expect((await first).status).toBe(500);
    expect((await Promise.all(others)).map(({ body }) => body)).toEqual([{ run: 2 }, { run: 2 }]);
  });

  it('does not wait for another run beyond its own deadline', async () => {
    const [begun, release] = [gate(), gate()];
    const work = counting(() => (begun.open(), release.opened));
    const agent = await serve(work.handler);
    const first = deliver(agent);
    await begun.opened;
    const second = await deliver(agent, { deadline_ms: 50 });
    expect([second.status, second.body.code]).toEqual([504, 'agent_timeout']);
    release.open();
    expect((await first).body).toEqual({ run: 1 });
  });

  it.each([
    ['at_most_once', {}, { delivery_semantics: 'at_most_once' }],
    ['an ability that is idempotent', { capabilities: [{ name: 'echo', description: 'e', idempotent: true }] }, {}],
  ])('asks no store for %s', async (_, descriptor, more) => {
    const work = counting();
    const agent = await serve(work.handler, { descriptor: echoDescriptor('http', descriptor) });
    await deliver(agent, more);
    await deliver(agent, more);
    expect([work.runs, asked('begin').length, asked('complete').length]).toEqual([2, 0, 0]);
  });

  it('turns a redelivery away while the store cannot be asked: it may have been done', async () => {
    interfere = () => DOWN;
    const work = counting();
    const agent = await serve(work.handler);
    const { status, body } = await deliver(agent, { deadline_ms: 3_000, attempt: 2 });
    expect([status, body.code, work.runs]).toEqual([429, 'agent_busy', 0]);
    expect(body.detail).toContain('not begun');
  });

  it('runs a first attempt without the store, and does not ask it again for a while', async () => {
    interfere = () => DOWN;
    const work = counting();
    const agent = await serve(work.handler);
    expect((await deliver(agent, { deadline_ms: 3_000 })).body).toEqual({ run: 1 });
    const begun = asked('begin').length;
    expect((await deliver(agent, { deadline_ms: 3_000, idempotency_key: 'another' })).body).toEqual({ run: 2 });
    expect(asked('begin')).toHaveLength(begun);
    expect(logged('warn', 'first attempts go on without it')).toHaveLength(1);
  });

  it('outwaits a store that is away for a moment', async () => {
    interfere = (_, nth) => (nth === 1 ? DOWN : undefined);
    const agent = await serve(counting().handler);
    expect((await deliver(agent)).body).toEqual({ run: 1 });
    expect((await deliver(agent)).body).toEqual({ run: 1 });
  });

  it('answers although the result could not be recorded, and says so in the log', async () => {
    interfere = (verb) => (verb === 'complete' ? DOWN : undefined);
    const work = counting();
    const agent = await serve(work.handler);
    expect((await deliver(agent)).body).toEqual({ run: 1 });
    expect(logged('error', 'could not be recorded')).toHaveLength(1);
    expect((await deliver(agent)).body).toEqual({ run: 2 });
  });

  it('goes on at a gateway that has no store yet, with one warning', async () => {
    interfere = () => problem('not_found', 404);
    const agent = await serve(counting().handler);
    expect((await deliver(agent)).body).toEqual({ run: 1 });
    expect((await deliver(agent)).body).toEqual({ run: 2 });
    expect(logged('warn', 'no deduplication store')).toHaveLength(1);
    expect((await deliver(agent, exactly(1))).status).toBe(429);
  });

  it('answers with what is too large to be recorded, and says so in the log', async () => {
    const agent = await serve(() => ({ text: 'x'.repeat(262_144) }));
    expect((await deliver(agent)).status).toBe(200);
    expect(asked('complete')).toEqual([]);
    expect(logged('error', 'too large')).toMatchObject([{ fields: { max_bytes: 262_144 } }]);
  });

  it('does not record an answer that its schema forbids: it would outlive the repair', async () => {
    const output_schema = { type: 'object', required: ['text'] };
    const descriptor = echoDescriptor('http', { capabilities: [{ name: 'echo', description: 'e', output_schema }] });
    let broken = true;
    const agent = await serve(() => (broken ? { txt: 1 } : { text: 'fine' }), { descriptor });
    expect((await deliver(agent)).body).toEqual({ txt: 1 });
    broken = false;
    expect((await deliver(agent)).body).toEqual({ text: 'fine' });
  });
});

describe('exactly_once', () => {
  it('has one result, whichever instance is asked', async () => {
    const [here, there] = [counting(), counting()];
    const [first, second] = [await serve(here.handler), await serve(there.handler)];
    await deliver(first, exactly(1));
    expect((await deliver(second, exactly(2))).body).toEqual({ run: 1 });
    expect([here.runs, there.runs]).toEqual([1, 0]);
    expect(asked('begin').map(({ json }) => json?.fence)).toEqual([fence(1), fence(2)]);
  });

  it('keeps a record even of abilities that are idempotent', async () => {
    const capabilities = [{ name: 'echo', description: 'e', idempotent: true }];
    const work = counting();
    const agent = await serve(work.handler, { descriptor: echoDescriptor('http', { capabilities }) });
    await deliver(agent, exactly(1));
    await deliver(agent, exactly(2));
    expect(work.runs).toBe(1);
  });

  it('runs again after a failed try', async () => {
    const work = counting((nth) => {
      if (nth === 1) throw new Error('not yet');
    });
    const agent = await serve(work.handler);
    await deliver(agent, exactly(1));
    expect((await deliver(agent, exactly(2))).body).toEqual({ run: 2 });
  });

  /** Attempt 1 is stuck at one instance; attempt 2 is at another and held there too. */
  async function overtaken() {
    const [slow, fast] = [gate(), gate()];
    const [begun, follows] = [gate(), gate()];
    const old = await serve(async () => (begun.open(), await slow.opened, { from: 'old' }));
    const young = await serve(async () => (follows.open(), await fast.opened, { from: 'young' }));
    const first = deliver(old, exactly(1));
    await begun.opened;
    const second = deliver(young, exactly(2));
    await follows.opened;
    return { old, young, first, second, slow, fast };
  }

  it('turns away an attempt that comes after a newer one, without running it', async () => {
    const { old, young, first, second, slow, fast } = await overtaken();
    const work = counting();
    const third = await serve(work.handler);
    const late = await deliver(third, exactly(1));
    expect([late.status, late.body.code, work.runs]).toEqual([429, 'agent_busy', 0]);
    slow.open();
    fast.open();
    await Promise.all([first, second]);
    expect([old.inFlight, young.inFlight]).toEqual([0, 0]);
  });

  it('throws away the result of an attempt that a newer one has overtaken', async () => {
    const { old, first, second, slow, fast } = await overtaken();
    slow.open();
    const refused = await first;
    expect([refused.status, refused.body.code]).toEqual([500, 'agent_error']);
    expect(refused.body.detail).toContain('newer attempt');
    fast.open();
    expect((await second).body).toEqual({ from: 'young' });
    expect((await deliver(old, exactly(3))).body).toEqual({ from: 'young' });
  });

  it('answers for an overtaken attempt with the newer result once that is there', async () => {
    const { young, first, second, slow, fast } = await overtaken();
    fast.open();
    expect((await second).body).toEqual({ from: 'young' });
    slow.open();
    expect((await first).body).toEqual({ from: 'young' });
    expect((await deliver(young, exactly(3))).body).toEqual({ from: 'young' });
  });

  it('never runs without its store', async () => {
    interfere = () => DOWN;
    const work = counting();
    const agent = await serve(work.handler);
    const { status, body } = await deliver(agent, { ...exactly(1), deadline_ms: 3_000 });
    expect([status, body.code, work.runs]).toEqual([429, 'agent_busy', 0]);
  });

  it('gives out no result that is not recorded', async () => {
    interfere = (verb, nth) => (verb === 'complete' && nth <= 3 ? DOWN : undefined);
    const work = counting();
    const agent = await serve(work.handler);
    // At least a second of patience, in which three tries surely fit: 0, about 100 and about 300 ms.
    expect((await deliver(agent, { ...exactly(1), deadline_ms: 30_000 })).body).toEqual({ run: 1 });
    interfere = (verb) => (verb === 'complete' ? DOWN : undefined);
    const { status, body } = await deliver(agent, { ...exactly(1), idempotency_key: 'k-2', deadline_ms: 3_000 });
    expect([status, body.code]).toEqual([500, 'agent_error']);
    expect(work.runs).toBe(2);
  }, 20_000);

  it('refuses what is too large to be recorded', async () => {
    const agent = await serve(() => ({ text: 'x'.repeat(262_144) }));
    const { status, body } = await deliver(agent, exactly(1));
    expect([status, body.code]).toEqual([501, 'agent_response_too_large']);
  });

  it.each([
    ['an agent without a store', { deduplication: 'off' as const }, {}],
    ['a call without a fence', {}, { fence: undefined }],
  ])('is refused for good by %s', async (_, options, more) => {
    const work = counting();
    const agent = await serve(work.handler, options);
    const { status, body } = await deliver(agent, { ...exactly(1), ...more });
    expect([status, body.code, work.runs]).toEqual([422, 'agent_rejected', 0]);
  });
});

describe('options', () => {
  it('run redeliveries again when it is off', async () => {
    const work = counting();
    const agent = await serve(work.handler, { deduplication: 'off' });
    await deliver(agent);
    await deliver(agent);
    expect([work.runs, asked('begin').length]).toEqual([2, 0]);
  });

  it('hand every question to a store of your own', async () => {
    const kept = new Map<string, JsonObject>();
    const ttls = new Set<number>();
    const deduplication: AgentOptions['deduplication'] = {
      maxOutputBytes: 100,
      begin: ({ key, ttlMs }) => {
        ttls.add(ttlMs);
        const output = kept.get(key);
        return Promise.resolve(output ? { status: 'done', output } : { status: 'free' });
      },
      complete: ({ key, output, ttlMs }) => {
        ttls.add(ttlMs);
        kept.set(key, output);
        return Promise.resolve({ status: 'recorded' });
      },
    };
    const agent = await serve(counting().handler, { deduplication, deduplicationTtlMs: 365 * DAY_MS });
    await deliver(agent);
    expect((await deliver(agent)).body).toEqual({ run: 1 });
    expect([...ttls]).toEqual([365 * DAY_MS]);
    expect(asked('begin')).toEqual([]);
  });

  it('keep results for 24 hours, or longer', async () => {
    const day = await serve(counting().handler);
    const week = await serve(counting().handler, { deduplicationTtlMs: 7 * DAY_MS });
    await deliver(day);
    await deliver(week, { idempotency_key: 'k-2' });
    expect(asked('complete').map(({ json }) => json?.ttl_ms)).toEqual([DAY_MS, 7 * DAY_MS]);
  });

  it.each([DAY_MS - 1, 0, -1, 1.5 * DAY_MS + 0.5, Number.NaN, Infinity, 31 * DAY_MS])(
    'refuse to keep them for %d ms',
    (deduplicationTtlMs) => {
      const descriptor = echoDescriptor('http');
      const handlers = { echo: counting().handler };
      expect(() => new ReachAgent({ descriptor, gateway: gateway.url, handlers, deduplicationTtlMs })).toThrow(
        expect.objectContaining({ code: 'invalid_request', message: expect.stringContaining('24 h') }),
      );
    },
  );
});

/** Looks again with every turn of the event loop. */
async function until(done: () => boolean): Promise<void> {
  while (!done()) await new Promise((resolve) => setImmediate(resolve));
}

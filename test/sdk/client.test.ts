import { AgentReachClient, ReachError, type ReachResult } from '../../src/sdk/client';
import { problem, ScriptedGateway, type Script } from './scripted-gateway';

const RESULT = {
  reach_id: 'r-1',
  message_id: 'm-1',
  status: 'completed',
  agent_name: 'echo',
  agent_version: '1.0.0',
  instance: 'i-1',
  route_reason: 'the only one',
  confidence: 1,
  output: { text: 'hi' },
  degraded: false,
  attempts: 1,
  duration_ms: 5,
  replayed: false,
  decision_id: 'd-1',
  trace_id: 't-1',
};
const RECEIPT = { reach_id: 'r-1', message_id: 'm-1', status: 'running', stage: 'routed', agent_name: 'echo' };
const DONE = { status: 200, body: RESULT };

let gateway: ScriptedGateway;
let client: AgentReachClient;

async function start(script: Script, options: object = {}) {
  gateway = await ScriptedGateway.start(script);
  client = new AgentReachClient({ url: gateway.url, random: () => 0, ...options });
}

afterEach(async () => {
  await client?.close();
  await gateway?.close();
  client = gateway = undefined as never;
});

/** The ReachError that `work` ends with. */
async function failure(work: Promise<unknown>): Promise<ReachError> {
  const caught = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(caught).toBeInstanceOf(ReachError);
  return caught as ReachError;
}

const messageIds = () => gateway.requests('POST', /reaches$/).map((seen) => seen.json?.message_id);

describe('invokeAbility', () => {
  it('posts one envelope with what the caller said, and returns a result that is ready at once', async () => {
    await start(() => DONE, { apiKey: 'k' });
    const result: ReachResult<{ text: string }> = await client.invokeAbility(
      'echo',
      { text: 'hi' },
      { timeoutMs: 700, idempotency_key: 'ticket-1', group: 'beta' },
    );
    expect(result.output.text).toBe('hi');
    expect(result.agent_name).toBe('echo');
    const [post, ...more] = gateway.seen;
    expect(more).toEqual([]);
    expect(post?.headers).toMatchObject({
      prefer: 'wait=1',
      authorization: 'Bearer k',
      'content-type': 'application/json',
    });
    expect(post?.json).toEqual({
      ability: 'echo',
      payload: { text: 'hi' },
      timeout_ms: 700,
      idempotency_key: 'ticket-1',
      group: 'beta',
      message_id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
    });
  });

  it('long-polls by reach id after the receipt until the end', async () => {
    await start((seen, nth) => {
      if (seen.method === 'POST') return { status: 202, body: RECEIPT };
      return nth < 3 ? { status: 200, body: { ...RECEIPT } } : DONE;
    });
    await expect(client.invokeAbility('echo', {}, { timeoutMs: 30_000 })).resolves.toMatchObject({
      output: { text: 'hi' },
    });
    const polls = gateway.requests('GET', /^\/v1\/reaches\/r-1$/);
    expect(polls).toHaveLength(3);
    expect(Number(polls[0]?.query.get('wait'))).toBe(20);
  });

  it('throws the error that a POST answers, with all that is known', async () => {
    const errors = [{ pointer: '/payload/text', message: 'is missing' }];
    await start(() => problem('payload_schema_mismatch', 422, { errors, agent_name: 'echo', trace_id: 't-9' }));
    const error = await failure(client.invokeAbility('echo', {}));
    expect(error.code).toBe('payload_schema_mismatch');
    expect(error.options.errors).toEqual(errors);
    expect(error.options.extra).toMatchObject({ agent_name: 'echo', trace_id: 't-9' });
    expect(gateway.seen).toHaveLength(1);
  });

  it('throws the error that a reach ended with, from the 200 of a poll', async () => {
    await start((seen) => {
      if (seen.method === 'POST') return { status: 202, body: RECEIPT };
      return {
        status: 200,
        body: { reach_id: 'r-1', status: 'dead_lettered', error: problem('agent_rejected', 502).body },
      };
    });
    const error = await failure(client.invokeAbility('echo', {}));
    expect(error.code).toBe('agent_rejected');
    expect(error.options.extra?.reach_id).toBe('r-1');
  });

  it('says that a cancelled reach is over although nothing failed', async () => {
    await start((seen) =>
      seen.method === 'POST'
        ? { status: 202, body: RECEIPT }
        : { status: 200, body: { reach_id: 'r-1', status: 'cancelled' } },
    );
    expect((await failure(client.invokeAbility('echo', {}))).code).toBe('reach_terminal');
  });
});

describe('lost requests', () => {
  it('repeats a POST whose answer was lost, with the same message id', async () => {
    await start((_, nth) => (nth === 1 ? 'reset' : nth === 2 ? problem('engine_unavailable', 503) : DONE));
    await client.invokeAbility('echo', {});
    expect(messageIds()).toHaveLength(3);
    expect(new Set(messageIds()).size).toBe(1);
  });

  it('makes a new message id for each call', async () => {
    await start(() => DONE);
    await client.invokeAbility('echo', {});
    await client.invokeAbility('echo', {});
    expect(new Set(messageIds()).size).toBe(2);
  });

  it("never repeats an agent's failure or a fast failure: Agent-Reach has decided about those", async () => {
    await start(() => problem('circuit_open', 503, { degraded: true, retry_after_ms: 1 }));
    const error = await failure(client.invokeAbility('echo', {}));
    expect(error.toProblem()).toMatchObject({ code: 'circuit_open', degraded: true, retry_after_ms: 1 });
    expect(gateway.seen).toHaveLength(1);
  });

  it('waits as long as Retry-After asks, and gives up when that is longer than the caller has', async () => {
    await start((_, nth) => (nth === 1 ? { ...problem('rate_limited', 429), headers: { 'retry-after': '1' } } : DONE));
    await client.invokeAbility('echo', {}, { timeoutMs: 5_000 });
    const [first, second] = gateway.seen;
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(990);
    gateway.script = () => ({ ...problem('rate_limited', 429), headers: { 'retry-after': '600' } });
    expect((await failure(client.send({ ability: 'echo', payload: {} }))).options.retryAfterMs).toBe(600_000);
    expect(gateway.seen).toHaveLength(3);
  });

  it('names the gateway that nobody listens on, within the time given', async () => {
    await start(() => DONE);
    await gateway.close();
    const before = performance.now();
    const error = await failure(client.send({ ability: 'echo', payload: {}, timeout_ms: 600 }));
    expect(error.code).toBe('engine_unavailable');
    expect(error.message).toContain(gateway.url);
    expect(error.message).toContain('ECONNREFUSED');
    const took = performance.now() - before;
    expect(took).toBeGreaterThan(100); // it did try again
    expect(took).toBeLessThan(10_000);
    await gateway.listen();
  });

  it('reaches a gateway that comes back while it is asking', async () => {
    await start(() => DONE);
    await gateway.close();
    const answer = client.invokeAbility('echo', {});
    setTimeout(() => void gateway.listen(), 200);
    await expect(answer).resolves.toMatchObject({ status: 'completed' });
  });

  it('does not repeat a cancel that may have arrived', async () => {
    await start(() => 'reset');
    await failure(client.cancel('r-1'));
    expect(gateway.seen).toHaveLength(1);
  });

  it.each([
    [404, 'not_found'],
    [401, 'unauthorized'],
    [302, 'invalid_request'],
    [200, 'engine_unavailable'],
  ])('is not fooled by something else that answers %i with HTML', async (status, code) => {
    await start(() => ({ status, body: '<html>', headers: { 'content-type': 'text/html' } }), { maxRetries: 0 });
    const error = await failure(client.agents());
    expect(error.code).toBe(code);
    expect(error.message).toContain('check that this is the URL');
  });
});

describe('waiting and stopping', () => {
  const never: Script = (seen) => (seen.method === 'POST' ? { status: 202, body: RECEIPT } : 'hang');

  it('stops waiting when the signal aborts, and leaves the reach alone', async () => {
    await start(never);
    const stop = new AbortController();
    const answer = client.invokeAbility('echo', {}, { signal: stop.signal });
    void gateway.until(() => gateway.requests('GET', /./).length > 0).then(() => stop.abort(new Error('enough')));
    setTimeout(() => stop.abort(new Error('enough')), 300);
    await expect(answer).rejects.toThrow('enough');
    expect(gateway.requests('POST', /:cancel$/)).toHaveLength(0);
  });

  it('cancels the reach as well when asked to', async () => {
    await start((seen) =>
      /cancel$/.test(seen.path) ? { status: 202, body: { reach_id: 'r-1', status: 'running' } } : never(seen, 1),
    );
    const stop = new AbortController();
    const answer = client.invokeAbility('echo', {}, { signal: stop.signal, cancelOnAbort: true });
    void gateway.until(() => gateway.requests('GET', /./).length > 0).then(() => stop.abort(new Error('enough')));
    await expect(answer).rejects.toThrow('enough');
    expect(gateway.requests('POST', /^\/v1\/reaches\/r-1:cancel$/)).toHaveLength(1);
  });

  it('ends a wait that lasts too long without calling it a failure of the reach', async () => {
    await start(() => ({ status: 200, body: RECEIPT }));
    const error = await failure(client.wait('r-1', { timeoutMs: 300 }));
    expect(error.code).toBe('deadline_exceeded');
    expect(error.message).toContain('it goes on');
    expect(gateway.seen.length).toBeLessThanOrEqual(2);
  });

  it('does not send at all when the signal has aborted before', async () => {
    await start(() => DONE);
    await expect(client.get('r-1', { signal: AbortSignal.abort(new Error('no')) })).rejects.toThrow('no');
    expect(gateway.seen).toHaveLength(0);
  });
});

describe('a large payload and a gateway that is away', () => {
  const payload = { text: 'x'.repeat(400_000) };

  it.each<[what: string, ask: () => Promise<unknown>]>([
    ['invoke', () => client.invoke({ ability: 'echo', payload }, { timeoutMs: 200 })],
    ['send', () => client.send({ ability: 'echo', payload, timeout_ms: 200 })],
  ])('%s fails within its time', async (_, ask) => {
    await start(() => DONE);
    await gateway.close();
    const before = performance.now();
    expect((await failure(ask())).code).toBe('engine_unavailable');
    // An invoke listens for 3 s more than the reach may take.
    expect(performance.now() - before).toBeLessThan(8_000);
  });
});

describe('the rest of the API', () => {
  it('asks for each resource where the contract has it', async () => {
    await start((seen) => ({
      status: 200,
      body: seen.path === '/v1/abilities:search' ? { results: [{ ability: 'a' }] } : { items: [] },
    }));
    await client.send({ ability: 'echo', payload: {} });
    await client.get('r/1', { waitSec: 3 });
    await client.trace('r-1');
    await client.list({ status: 'dead_lettered', limit: 5 });
    await client.route({ ability: 'echo', payload: {} });
    await client.agents();
    await client.agent('echo');
    await client.abilities();
    await client.ability('意图');
    expect(await client.searchAbilities('refund', { limit: 3 })).toEqual([{ ability: 'a' }]);
    await client.registerDescriptor('name: echo\n', { dryRun: true });
    await client.registerDescriptor('{"name":"echo"}', { replace: true });
    await client.removeAgentVersion('echo', '1.2.0');
    await client.removeAgent('echo');
    const lines = gateway.seen.map(
      ({ method, path, query }) => `${method} ${path}${query.size > 0 ? `?${query}` : ''}`,
    );
    expect(lines).toEqual([
      'POST /v1/reaches',
      'GET /v1/reaches/r%2F1?wait=3',
      'GET /v1/reaches/r-1/trace',
      'GET /v1/reaches?status=dead_lettered&limit=5',
      'POST /v1/route',
      'GET /v1/agents',
      'GET /v1/agents/echo',
      'GET /v1/abilities',
      'GET /v1/abilities/%E6%84%8F%E5%9B%BE',
      'POST /v1/abilities:search',
      'POST /v1/agents?dry_run=true',
      'POST /v1/agents?replace=true',
      'DELETE /v1/agents/echo?version=1.2.0',
      'DELETE /v1/agents/echo',
    ]);
    expect(gateway.seen[0]).toMatchObject({ headers: { prefer: 'respond-async' }, json: { mode: 'async' } });
    expect(gateway.seen.slice(-4, -2).map(({ headers }) => headers['content-type'])).toEqual([
      'application/yaml',
      'application/json',
    ]);
  });

  it('refuses an empty id, which would ask for the list', async () => {
    await start(() => DONE);
    expect(() => client.get('')).toThrow(ReachError);
    // Without a version the same request would remove everything.
    await expect(client.removeAgentVersion('echo', '')).rejects.toThrow(ReachError);
    await expect(client.removeAgent('')).rejects.toThrow(ReachError);
    expect(gateway.seen).toEqual([]);
  });

  it.each(['localhost:8080', 'ftp://x', ''])('refuses `%s` as a gateway', async (url) => {
    await start(() => DONE);
    expect(() => new AgentReachClient({ url })).toThrow(/not the URL of a gateway/);
  });
});

it('loads neither Temporal nor zod', async () => {
  for (const name of ['@temporalio/worker', '@temporalio/activity', 'zod']) {
    jest.doMock(name, () => {
      throw new Error(`${name} was loaded`);
    });
  }
  await jest.isolateModulesAsync(async () => {
    await expect(import('../../src/sdk/client')).resolves.toHaveProperty('AgentReachClient');
    await expect(import('../../src/sdk/worker-host')).rejects.toThrow('was loaded');
  });
});

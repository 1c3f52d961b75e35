import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { performance } from 'node:perf_hooks';
import { parseEgressAllow } from '../../policy/egress';
import type { AgentCall } from '../../protocol/shapes';
import type { AdapterContext, AdapterTarget } from '../adapter';
import { createDispatcher } from './dispatcher';
import { HttpAdapter } from './http-adapter';

const egress = parseEgressAllow(['127.0.0.0/8']);
const call = { reach_id: 'r-1', idempotency_key: 'k-1', deadline_ms: 1_000 } as AgentCall;
const adapters: HttpAdapter[] = [];
const servers: Server[] = [];

/** A server, and an adapter that calls it over at most so many connections. */
async function stage(listener: (request: IncomingMessage, response: ServerResponse) => void, connections?: number) {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const dispatcher = createDispatcher({ egress, connectionsPerOrigin: connections });
  const adapter = new HttpAdapter({ dispatcher, egress, readToken: () => undefined });
  adapters.push(adapter);
  const target = {
    descriptor: { name: 'agent', auth: { type: 'none' } },
    instance: { host: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` },
  } as unknown as AdapterTarget;
  const invoke = ({ budgetMs = 30_000, signal = new AbortController().signal }: Partial<AdapterContext> = {}) => {
    const rest = { maxResponseBytes: 10_000_000, traceparent: '00-1-2-01', reachToken: 'token' };
    return adapter.invoke(call, target, { budgetMs, signal, ...rest });
  };
  return { server, invoke };
}

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  for (const adapter of adapters.splice(0)) await adapter.close();
});

describe('connections', () => {
  it('are as many as there are calls: the limits of agents decide how many may come', async () => {
    const CALLS = 120;
    const held: ServerResponse[] = [];
    const { invoke } = await stage((_request, response) => {
      held.push(response);
      if (held.length === CALLS) for (const each of held) each.end('{}');
    });
    const outcomes = await Promise.all(Array.from({ length: CALLS }, () => invoke()));
    expect(outcomes).toHaveLength(CALLS);
  });

  it('that do not come free leave a call unsent, which ends in its time all the same', async () => {
    let come: () => void;
    const first = new Promise<void>((resolve) => (come = resolve));
    const { invoke } = await stage(() => come(), 1);
    const stop = new AbortController();
    const holding = invoke({ signal: stop.signal });
    await first;
    const startedMs = performance.now();
    await expect(invoke({ budgetMs: 200 })).rejects.toMatchObject({
      code: 'agent_timeout',
      options: { received: 'no' },
    });
    expect(performance.now() - startedMs).toBeLessThan(10_000);
    stop.abort();
    await expect(holding).rejects.toThrow();
  });

  it('that stood leave open whether the agent has done it', async () => {
    const { invoke } = await stage(() => undefined);
    await expect(invoke({ budgetMs: 300 })).rejects.toMatchObject({
      code: 'agent_timeout',
      options: { received: 'unknown' },
    });
  });

  it('that break under a call leave it open as well', async () => {
    const { invoke } = await stage((request) => request.socket.destroy());
    await expect(invoke()).rejects.toMatchObject({ code: 'agent_unavailable', options: { received: 'unknown' } });
  });
});

describe('failures with a long explanation', () => {
  const page = `sorry ${'x'.repeat(3_000_000)}`;

  it.each([
    [503, 'agent_error'],
    [429, 'agent_busy'],
    [422, 'agent_rejected'],
  ])('%i is what its status says', async (status, code) => {
    const { invoke } = await stage((_request, response) =>
      response.writeHead(status, { 'retry-after': '7', 'content-length': page.length }).end(page),
    );
    await expect(invoke()).rejects.toMatchObject({
      code,
      message: expect.stringMatching(/: sorry x+/),
      options: { received: 'yes', retryAfterMs: 7_000 },
    });
  });
});

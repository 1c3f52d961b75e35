/** `agent-reach watch` against a real gateway, and the client under it against one that breaks its streams off. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AgentReachClient, type ReachLifecycleEvent } from '../../src/sdk/client';
import { startGateway, type TestGateway } from '../support/gateway';
import { startHttpAgent, type ScriptedHttpAgent } from '../support/scripted-http-agent';
import { cli } from './cli-io';

let gateway: TestGateway;
let agent: ScriptedHttpAgent;

beforeAll(async () => {
  gateway = await startGateway();
  agent = await startHttpAgent(gateway.api, { name: 'desk', endpoint: { max_retry: 1 } });
});
afterAll(async () => {
  await agent.close();
  await gateway.close();
});
beforeEach(() => agent.plays());

const run = (args: string[], options: Parameters<typeof cli>[1] = {}) =>
  cli(args, { env: { AGENT_REACH_URL: gateway.url }, ...options });
const start = async () =>
  (await gateway.api.reach({ ability: agent.ability, timeout_ms: 30_000 }, { prefer: 'respond-async' })).body
    .reach_id as string;

it('tells a reach line by line as it happens, and ends with it', async () => {
  agent.plays({ do: 'fail', message: 'come back later' }, { do: 'answer', output: { answer: 'yes' } });
  const { code, out } = await run(['watch', await start()]);
  expect(code).toBe(0);
  expect(out.trimEnd().split('\n')).toEqual([
    expect.stringMatching(/^ +\+0 ms {2}accepted +trace [0-9a-f]{32}$/),
    expect.stringMatching(/routed +desk is the only agent/),
    expect.stringMatching(/attempt_failed +#1 at desk#1.0.0: agent_error, .*come back later/),
    expect.stringMatching(/completed$/),
  ]);
});

it('prints one event a line as JSON, goes on behind one, and ends with 1 without an answer', async () => {
  agent.plays({ do: 'status', status: 422, body: '{"detail":"no"}' });
  const id = await start();
  const whole = await run(['watch', id, '--json']);
  const events = whole.out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as ReachLifecycleEvent);
  expect([whole.code, events.map(({ event }) => event)]).toEqual([
    1,
    ['accepted', 'routed', 'attempt_failed', 'dead_lettered'],
  ]);
  const rest = await run(['watch', id, '--after', events[1]!.id]);
  expect(rest.out).toMatch(/^ +\+0 ms {2}attempt_failed .*\n.*dead_lettered +agent_rejected: .*\n$/);
  expect(await run(['watch', 'r-nobody'])).toMatchObject({ code: 1, err: expect.stringContaining('not_found') });
});

it('ends when it is interrupted, and when nobody reads any more', async () => {
  agent.plays({ do: 'hang' });
  const id = await start();
  const left = new AbortController();
  const gone = { out: () => left.abort(), readerGone: left.signal };
  expect((await run(['watch', id], gone)).code).toBe(0);
  const interrupt = new AbortController();
  const interrupted = { out: () => interrupt.abort(new Error('interrupted')), signal: interrupt.signal };
  expect((await run(['watch', id], interrupted)).code).toBe(130);
  await gateway.api.post(`/v1/reaches/${id}:cancel`);
});

describe('a stream that breaks off', () => {
  const asked: (string | undefined)[] = [];
  let answers: ((response: ServerResponse) => void)[] = [];
  const server = createServer((request: IncomingMessage, response) => {
    asked.push(request.headers['last-event-id'] as string | undefined);
    answers.shift()!(response);
  });
  let client: AgentReachClient;

  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    client = new AgentReachClient({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
  });
  afterAll(async () => {
    await client.close();
    server.close();
  });

  const event = (id: string, name: string) =>
    `id: ${id}\nevent: ${name}\ndata: {"seq":1,"at":"2026-01-01T00:00:00Z"}\n\n`;
  const streaming = (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/event-stream' });

  it('is gone on with behind the last event: after a cut in the middle of one, a refusal, and a clean end', async () => {
    asked.length = 0;
    let cut: () => void = () => undefined;
    answers = [
      (response) => {
        streaming(response).write(event('1.0', 'accepted') + event('1.1', 'routed').slice(0, 20));
        cut = () => response.destroy();
      },
      (response) =>
        response.writeHead(503, { 'content-type': 'application/json' }).end('{"code":"engine_unavailable"}'),
      (response) => streaming(response).end(event('1.1', 'routed')),
      (response) => streaming(response).end(event('9.0', 'completed')),
    ];
    const told: string[] = [];
    for await (const { id } of client.watch('r-1')) {
      told.push(id);
      // Not before the first event has come: what is cut off on its way is never told.
      if (told.length === 1) cut();
    }
    expect(told).toEqual(['1.0', '1.1', '9.0']);
    expect(asked).toEqual([undefined, '1.0', '1.0', '1.1']);
  });

  it('is not asked for again where that cannot help', async () => {
    answers = [
      (response) => response.writeHead(404, { 'content-type': 'application/json' }).end('{"code":"not_found"}'),
    ];
    await expect(client.watch('r-1').next()).rejects.toMatchObject({ code: 'not_found' });
  });
});

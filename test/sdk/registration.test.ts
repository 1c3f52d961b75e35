import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ReachAgent, type AgentEvents, type AgentOptions, type ReachError } from '../../src/sdk/agent';
import { beats, echoDescriptor, puts, quietLog, startRegistry, type ScriptedRegistry } from './scripted-registry';
import { problem, type ScriptedGateway } from './scripted-gateway';

let gateway: ScriptedGateway;
let registry: ScriptedRegistry;
const agents: ReachAgent[] = [];

beforeEach(async () => {
  ({ gateway, registry } = await startRegistry());
});

afterEach(async () => {
  await Promise.all(agents.splice(0).map((agent) => agent.stop()));
  await gateway.close();
});

function make(options: Partial<AgentOptions> = {}) {
  const log = quietLog();
  const made = new ReachAgent({
    descriptor: echoDescriptor('http'),
    gateway: gateway.url,
    handlers: { echo: () => ({}) },
    log,
    heartbeatIntervalMs: 50,
    ttlSec: 30,
    ...options,
  });
  agents.push(made);
  return { agent: made, log };
}

/** The arguments of the next such event; unlike `events.once`, an `error` event meanwhile is no end. */
const once = <K extends keyof AgentEvents>(agent: ReachAgent, event: K) =>
  new Promise<unknown[]>((resolve) => agent.once(event, ((...args: unknown[]) => resolve(args)) as never));

describe('joining', () => {
  it('registers the descriptor, then the instance with the URL it serves', async () => {
    const { agent } = make({ instanceId: 'echo-1', apiKey: 'k' });
    const registered = once(agent, 'registered');
    await agent.start();
    expect(await registered).toEqual([{ epoch: '1', ttlSec: 30 }]);
    expect(agent.registration).toBe('registered');
    const [descriptor, instance] = gateway.seen;
    expect(descriptor).toMatchObject({
      method: 'POST',
      path: '/v1/agents',
      json: { name: 'echo' },
      headers: { authorization: 'Bearer k' },
    });
    expect(instance).toMatchObject({ method: 'PUT', path: '/v1/agents/echo/instances/echo-1' });
    expect(instance?.json).toEqual({ version: '1.0.0', ttl_sec: 30, max_concurrency: 2, host: agent.url });
    expect(agent.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  });

  it('sends a descriptor file as it is written', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'descriptor-'));
    const text = '# the echo\nname: echo\nversion: v1.0.0\ncapabilities: [echo]\nendpoint: {protocol: http}\n';
    writeFileSync(join(folder, 'echo.yaml'), text);
    const { agent } = make({ descriptor: join(folder, 'echo.yaml') });
    await agent.start();
    expect(gateway.seen[0]).toMatchObject({ text, headers: { 'content-type': 'application/yaml' } });
    expect(puts(gateway)[0]?.json?.version).toBe('1.0.0');
    rmSync(folder, { recursive: true });
  });

  it.each([
    ['no handler', echoDescriptor('http', { capabilities: ['echo', 'sing'] }), /sing/],
    ['no ability', echoDescriptor('http', { capabilities: ['speak'] }), /echo/],
    ['another protocol', echoDescriptor('http', { endpoint: { protocol: 'grpc' } }), /worker/],
    ['a version that is none', echoDescriptor('http', { version: '1.0' }), /\/version must be/],
    ['an unknown key', { ...echoDescriptor('http'), maxconcurrency: 1 }, /max_concurrency/],
    ['no file', '/nowhere/echo.yaml', /cannot be read/],
  ])('refuses a descriptor with %s before anything is sent', (_, descriptor, message) => {
    expect(() => make({ descriptor })).toThrow(message);
    expect(() => make({ descriptor })).toThrow(expect.objectContaining({ code: 'invalid_descriptor' }));
  });

  it('throws what the gateway refuses, at once, and serves nothing', async () => {
    registry.override = problem('version_exists', 409);
    const { agent } = make();
    await expect(agent.start()).rejects.toMatchObject({ code: 'version_exists' });
    expect(gateway.seen).toHaveLength(1);
    expect(agent.registration).toBe('stopped');
  });

  it('waits for a gateway that starts later than the agent', async () => {
    await gateway.close();
    const { agent } = make();
    const errors: Error[] = [];
    agent.on('error', (error) => errors.push(error));
    const started = agent.start();
    await once(agent, 'error');
    await gateway.listen();
    await started;
    expect(agent.registration).toBe('registered');
    expect((errors[0] as ReachError).code).toBe('engine_unavailable');
  });

  it('gives up on a gateway that never comes', async () => {
    await gateway.close();
    const { agent } = make({ startTimeoutMs: 100 });
    await expect(agent.start()).rejects.toMatchObject({ code: 'engine_unavailable' });
    await gateway.listen();
  });

  it('warns about a lease under ten heartbeats (R13)', async () => {
    const { agent, log } = make({ ttlSec: 5, heartbeatIntervalMs: 3_000 });
    await agent.start();
    expect(log.lines.filter(({ level }) => level === 'warn').map(({ message }) => message)).toEqual([
      expect.stringContaining('shorter than ten heartbeats'),
    ]);
  });
});

describe('leaving while it starts', () => {
  const left = { code: 'invalid_request', message: expect.stringContaining('while it was starting') };

  it('does not wait for a broker that is not there', async () => {
    const endpoint = { protocol: 'mq', address: 'redis://127.0.0.1:1' };
    const { agent } = make({ descriptor: { ...echoDescriptor('http'), endpoint } as never, startTimeoutMs: 60_000 });
    const start = expect(agent.start()).rejects.toMatchObject(left);
    const before = performance.now();
    await agent.drain();
    await start;
    expect(performance.now() - before).toBeLessThan(10_000);
    expect(gateway.seen).toEqual([]);
  });

  it('closes the port that it was about to listen on, and registers nothing', async () => {
    const { agent } = make();
    const start = expect(agent.start()).rejects.toMatchObject(left);
    await agent.stop();
    await start;
    expect([agent.url, agent.registration]).toEqual([undefined, 'stopped']);
    expect(gateway.seen).toEqual([]);
  });
});

describe('staying', () => {
  it('sends status, load and work in hand with every heartbeat', async () => {
    const release: (() => void)[] = [];
    const { agent } = make({ handlers: { echo: () => new Promise((resolve) => release.push(() => resolve({}))) } });
    await agent.start();
    await gateway.until(() => beats(gateway).length >= 2);
    expect(beats(gateway)[0]?.json).toEqual({ epoch: '1', status: 'ready', load: 0, in_flight: 0 });
    const answers = [1, 2].map(() =>
      fetch(agent.url ?? '', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ability: 'echo', reach_id: 'r', payload: {}, deadline_ms: 5_000 }),
      }),
    );
    await gateway.until(() => beats(gateway).at(-1)?.json?.in_flight === 2);
    expect(beats(gateway).at(-1)?.json).toEqual({ epoch: '1', status: 'busy', load: 1, in_flight: 2 });
    for (const each of release) each();
    await Promise.all(answers);
  });

  it('renews when the registry says that little is left', async () => {
    const { agent } = make();
    await agent.start();
    registry.beatOverride = { status: 200, body: { remaining_sec: 4 } };
    await gateway.until(() => beats(gateway).some((seen) => seen.json?.renew === true));
    expect(beats(gateway)[0]?.json?.renew).toBeUndefined();
  });

  it.each([
    ['its lease has expired', problem('lease_expired', 410)],
    ['the registry has forgotten it', problem('not_found', 404)],
  ])('registers again by itself when %s', async (_, reply) => {
    const { agent } = make();
    await agent.start();
    const lost = once(agent, 'lost');
    const again = once(agent, 're-registered');
    registry.beatOverride = reply;
    await lost;
    registry.beatOverride = undefined;
    expect(await again).toEqual([{ epoch: '2', ttlSec: 30 }]);
    expect(agent.registration).toBe('registered');
    const [, , ...later] = puts(gateway);
    expect(later).toEqual([]);
    await gateway.until(() => beats(gateway).at(-1)?.json?.epoch === '2');
  });

  it('stops when another process has taken its instance id, and leaves that registration alone', async () => {
    const { agent } = make();
    await agent.start();
    const superseded = once(agent, 'superseded');
    const stopped = once(agent, 'stopped');
    registry.takeOverAll();
    await superseded;
    await stopped;
    expect(agent.registration).toBe('superseded');
    expect(gateway.requests('DELETE', /./)).toHaveLength(0);
    expect(puts(gateway)).toHaveLength(1);
  });

  it('keeps serving and keeps trying while the gateway is away', async () => {
    const { agent } = make({ ttlSec: 600 });
    await agent.start();
    const trouble = once(agent, 'error');
    await gateway.close();
    await trouble;
    expect(agent.registration).toBe('registered');
    expect((await fetch(`${agent.url}/healthz`)).status).toBe(200);
    const before = beats(gateway).length;
    await gateway.listen();
    await gateway.until(() => beats(gateway).length > before);
    expect(puts(gateway)).toHaveLength(1);
  });

  it('knows that its lease is gone when nothing gets through, and returns under a new epoch', async () => {
    const { agent } = make({ ttlSec: 1, heartbeatIntervalMs: 100 });
    await agent.start();
    const lost = once(agent, 'lost');
    const before = performance.now();
    registry.beatOverride = 'hang';
    await lost;
    expect(performance.now() - before).toBeLessThan(5_000);
    expect(agent.registration).toBe('lost');
    registry.expireAll();
    const again = once(agent, 're-registered');
    registry.beatOverride = undefined;
    expect(await again).toEqual([{ epoch: '2', ttlSec: 1 }]);
  });
});

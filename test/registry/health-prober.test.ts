import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Agent } from 'undici';
import { parseEgressAllow } from '../../src/policy/egress';
import type { Descriptor } from '../../src/protocol/descriptor';
import type { InstanceState } from '../../src/protocol/shapes';
import { HealthProber, Registry, RegistryView } from '../../src/registry';
import { descriptorOf, eventually, openPlace, type Place } from './support';

const INTERVAL_SEC = 0.1;
let place: Place;
let registry: Registry;
let view: RegistryView;

beforeEach(async () => {
  place = openPlace();
  registry = new Registry(place.options);
  view = new RegistryView({ ...place.options, refreshIntervalMs: 60_000 });
  place.onClose(() => registry.close());
  place.onClose(() => view.stop());
  await view.start();
});
afterEach(() => place.close());

function startProber(allow = ['127.0.0.0/8']): HealthProber {
  const dispatcher = new Agent();
  const prober = new HealthProber({ ...place.options, view, dispatcher, egress: parseEgressAllow(allow) });
  place.onClose(() => dispatcher.destroy());
  place.onClose(() => prober.stop());
  prober.start();
  return prober;
}

/** An agent's health endpoint that does as the test says. */
async function startAgent(
  initial: RequestListener,
): Promise<{ address: string; answer(listener: RequestListener): void; paths: string[] }> {
  let listener = initial;
  const paths: string[] = [];
  const server: Server = createServer((request, response) => {
    paths.push(request.url ?? '');
    listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  place.onClose(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/invoke`,
    answer: (next) => (listener = next),
    paths,
  };
}

const ok: RequestListener = (_request, response) => void response.end('ok');
const status =
  (code: number): RequestListener =>
  (_request, response) =>
    void response.writeHead(code, { location: '/elsewhere' }).end();

/** The schema's shortest interval is 1 s; tests go faster. */
function probed(address: string | undefined, timeoutSec = 10): Descriptor {
  const endpoint = { protocol: 'http' as const, ...(address !== undefined && { address }) };
  const descriptor = descriptorOf({
    endpoint,
    capabilities: ['refund_order', 'refund_status'],
    health_check: { path: '/ready' },
  });
  return { ...descriptor, health_check: { interval_sec: INTERVAL_SEC, timeout_sec: timeoutSec, path: '/ready' } };
}

const instances = (): InstanceState[] => view.world().agents.flatMap((agent) => agent.instances);
const health = (id: string) => instances().find(({ instance_id }) => instance_id === id)?.health;

it('a static address that fails is unavailable with the reason, and comes back by itself (R04)', async () => {
  const agent = await startAgent(ok);
  await registry.registerDescriptor(probed(agent.address));
  startProber();
  await eventually(() => health('static-0') === 'passing');
  expect(instances()[0]).toMatchObject({ status: 'ready', status_reason: 'health check passing' });
  agent.answer(status(500));
  await eventually(() => health('static-0') === 'failing');
  expect(instances()[0]).toMatchObject({
    status: 'unavailable',
    status_reason: 'health check failing: answered HTTP 500, 3 times in a row',
  });
  agent.answer(ok);
  await eventually(() => health('static-0') === 'passing');
  expect(instances()[0]!.status).toBe('ready');
  expect(new Set(agent.paths)).toEqual(new Set(['/ready']));
});

it('heartbeats that go on do not hide a function that is dead (R04)', async () => {
  const agent = await startAgent(status(500));
  await registry.registerDescriptor(probed(undefined));
  const { epoch } = await registry.registerInstance('refund', 'pod', { version: '1.0.0', host: agent.address });
  startProber();
  await eventually(() => health('pod') === 'failing');
  await registry.heartbeat('refund', 'pod', { epoch, status: 'ready', load: 0.1 });
  await eventually(() => instances()[0]!.load === 0.1);
  expect(instances()[0]).toMatchObject({ status: 'unavailable', health: 'failing' });
  agent.answer(ok);
  await eventually(() => instances()[0]!.status === 'ready');
});

it.each<[what: string, listener: RequestListener, reason: string, timeoutSec: number]>([
  ['too slow', () => undefined, 'no answer within', 0.15],
  ['a body that never ends', (_request, response) => void response.writeHead(200).write('x'), 'no answer within', 0.15],
  ['a redirect', status(302), 'a redirect', 10],
  ['more than 64 KiB', (_request, response) => void response.end(Buffer.alloc(1_100_000)), 'more than 64 KiB', 10],
  ['a reset', (request) => void request.socket.destroy(), 'no answer (UND_ERR_SOCKET)', 10],
])('%s is a failure', async (_name, listener, reason, timeoutSec) => {
  const agent = await startAgent(listener);
  await registry.registerDescriptor(probed(agent.address, timeoutSec));
  startProber();
  await eventually(() => health('static-0') === 'failing');
  expect(instances()[0]!.status_reason).toContain(reason);
});

it('an address that may not be called is never called', async () => {
  const agent = await startAgent(ok);
  await registry.registerDescriptor(probed(agent.address));
  startProber([]);
  await eventually(() => health('static-0') === 'failing');
  expect(instances()[0]!.status_reason).toContain('not allowed');
  expect(agent.paths).toEqual([]);
});

it('without a declared check static addresses are left alone and hosts need no such page', async () => {
  const agent = await startAgent(status(404));
  await registry.registerDescriptor(descriptorOf({ endpoint: { protocol: 'http', address: agent.address } }));
  await registry.registerInstance('refund', 'pod', { version: '1.0.0', host: agent.address });
  startProber();
  await eventually(() => health('pod') === 'passing');
  expect(health('static-0')).toBe('unknown');
  expect(agent.paths).toEqual(['/healthz']);
});

it('a new registration starts unknown, whatever the last one was', async () => {
  const agent = await startAgent(status(503));
  await registry.registerDescriptor(probed(undefined));
  await registry.registerInstance('refund', 'pod', { version: '1.0.0', host: agent.address });
  startProber();
  await eventually(() => health('pod') === 'failing');
  const moved = await startAgent(ok);
  await registry.registerInstance('refund', 'pod', { version: '1.0.0', host: moved.address });
  await eventually(() => health('pod') === 'passing');
});

it('one process probes; when it stops another goes on with what was known', async () => {
  const agent = await startAgent(status(500));
  await registry.registerDescriptor(probed(agent.address));
  const first = startProber();
  await eventually(() => first.isProbing);
  const second = startProber();
  await eventually(() => health('static-0') === 'failing');
  expect(second.isProbing).toBe(false);
  const { since } = instances()[0]!;
  const turns: (string | undefined)[] = [];
  place.onClose(view.onChange(() => turns.push(health('static-0'))));
  await first.stop();
  const asked = agent.paths.length;
  await eventually(() => second.isProbing && agent.paths.length > asked + 3);
  expect(turns).toEqual([]);
  expect(instances()[0]).toMatchObject({ health: 'failing', since });
  agent.answer(ok);
  await eventually(() => health('static-0') === 'passing');
});

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent } from 'undici';
import { parseEgressAllow } from '../../../src/policy/egress';
import type { Descriptor } from '../../../src/protocol/descriptor';
import { HealthProber, Registry, RegistryView, StatsHub } from '../../../src/registry';
import { descriptorOf, eventually, openPlace, openRelay, type Place, type Relay } from '../support';
import { startPrivateEtcd, type PrivateEtcd } from './support';

/** As in the prober. */
const LEADER_TTL_SEC = 10;
const INTERVAL_SEC = 0.2;

/** One gateway's share of the registry, over a connection of its own that can be cut. */
interface Process {
  place: Place;
  relay: Relay;
  view: RegistryView;
  prober: HealthProber;
  stats: StatsHub;
}

let etcd: PrivateEtcd;
let processes: Process[];
let target: { server: Server; status: number; asked: { by: string; atMs: number }[] };
let admin: Place;

beforeEach(async () => {
  etcd = await startPrivateEtcd();
  admin = openPlace(etcd.address);
  processes = [];
  target = { server: createServer(), status: 200, asked: [] };
  target.server.on('request', (request, response) => {
    target.asked.push({ by: String(request.headers['user-agent']), atMs: performance.now() });
    response.writeHead(target.status).end();
  });
  await new Promise<void>((resolve) => target.server.listen(0, '127.0.0.1', resolve));
  const registry = new Registry(admin.options);
  admin.onClose(() => registry.close());
  const address = `http://127.0.0.1:${(target.server.address() as AddressInfo).port}`;
  const health_check = { interval_sec: INTERVAL_SEC, timeout_sec: 1, path: '/healthz' };
  const descriptor = descriptorOf({ endpoint: { protocol: 'http', address } });
  await registry.registerDescriptor({ ...descriptor, health_check } as Descriptor);
});
afterEach(async () => {
  etcd.thaw();
  await Promise.all(processes.map(({ place }) => place.close()));
  await admin.close();
  target.server.closeAllConnections();
  await new Promise((resolve) => target.server.close(resolve));
  await etcd.stop();
});

async function startProcess(): Promise<Process> {
  const relay = await openRelay(etcd.address);
  const place = openPlace(relay.address);
  place.options.keyPrefix = admin.options.keyPrefix;
  const view = new RegistryView({ ...place.options, refreshIntervalMs: 500 });
  const stats = new StatsHub({ ...place.options, publishIntervalMs: 100 });
  const dispatcher = new Agent().compose(
    (dispatch) => (options, handler) =>
      dispatch({ ...options, headers: { 'user-agent': place.options.keyPrefix + processes.length } }, handler),
  );
  const prober = new HealthProber({ ...place.options, view, dispatcher, egress: parseEgressAllow(['127.0.0.0/8']) });
  place.onClose(() => relay.close());
  place.onClose(() => dispatcher.destroy());
  for (const part of [view, stats, prober]) place.onClose(() => part.stop());
  await view.start();
  await stats.start();
  prober.start();
  const made = { place, relay, view, prober, stats };
  processes.push(made);
  return made;
}

/** Two of them, the first one elected. */
async function startTwo(): Promise<[leader: Process, other: Process]> {
  const first = await startProcess();
  await eventually(() => first.prober.isProbing);
  const second = await startProcess();
  await eventually(() => health(second) === 'passing');
  return [first, second];
}

const health = ({ view }: Process) => view.world().agents[0]?.instances[0]?.health;
const leaders = () => processes.filter(({ prober }) => prober.isProbing).length;

async function leaderKeyExists(): Promise<boolean> {
  const key = Buffer.from(`${admin.options.keyPrefix}/default/leader/health-prober`);
  return (await admin.etcd.kv.range({ key })).kvs.length === 1;
}

/** Looks every few ms for as long as `until` is pending; answers for how long more than one believed to lead. */
async function timeWithTwo(until: Promise<unknown>): Promise<number> {
  let over = false;
  void until.finally(() => (over = true)).catch(() => undefined);
  let total = 0;
  for (let last = performance.now(); !over;) {
    await sleep(10);
    const now = performance.now();
    if (leaders() > 1) total += now - last;
    last = now;
  }
  await until;
  return total;
}

const sample = { agentName: 'refund', agentVersion: '1.0.0', ability: 'refund_order', instanceId: 'static-0' };
const requests = ({ stats }: Process) => stats.lookup().ability('refund', '1.0.0', 'refund_order')?.requests;

it('the elected process is cut off: another takes over within the lease, never two for longer; it does not return as second', async () => {
  const [leader, other] = await startTwo();
  leader.relay.cut();
  const cutMs = performance.now();
  const two = await timeWithTwo(eventually(() => other.prober.isProbing, 20_000));
  expect(performance.now() - cutMs).toBeLessThan((LEADER_TTL_SEC + 5) * 1_000);
  expect(two).toBeLessThan(500);
  leader.relay.mend();
  target.status = 500;
  await eventually(() => health(leader) === 'failing' && health(other) === 'failing', 10_000);
  expect([leader.prober.isProbing, other.prober.isProbing]).toEqual([false, true]);
});

it('etcd killed and restarted: the elected process stays, one at a time, and health and statistics go on', async () => {
  const [leader, other] = await startTwo();
  leader.stats.record({ ...sample, durationMs: 10, outcome: 'ok' });
  await eventually(() => requests(other) === 1);
  await etcd.crash();
  leader.stats.record({ ...sample, durationMs: 10, outcome: 'ok' });
  target.status = 500;
  await sleep(2_000);
  expect(health(other)).toBe('passing');
  await etcd.restart();
  const two = await timeWithTwo(eventually(() => health(other) === 'failing' && requests(other) === 2, 30_000));
  expect(two).toBe(0);
  target.status = 200;
  await eventually(() => health(other) === 'passing' && health(leader) === 'passing');
  expect(leaders()).toBe(1);
});

it('etcd frozen for longer than the leases: then one leads again, and what was known is published anew', async () => {
  const [leader, other] = await startTwo();
  target.status = 500;
  leader.stats.record({ ...sample, durationMs: 10, outcome: 'ok' });
  await eventually(() => health(other) === 'failing' && requests(other) === 1);
  etcd.freeze();
  await eventually(() => leaders() === 0, (LEADER_TTL_SEC + 5) * 1_000);
  await sleep(6_000);
  expect([health(leader), health(other)]).toEqual(['failing', 'failing']);
  etcd.thaw();
  const two = await timeWithTwo(eventually(() => leaders() === 1 && requests(other) === 1, 20_000));
  expect(two).toBe(0);
  target.status = 200;
  await eventually(() => health(leader) === 'passing' && health(other) === 'passing', 10_000);
});

it('etcd replaced by an empty one: one leads again', async () => {
  const [, other] = await startTwo();
  await etcd.replace();
  await eventually(() => other.view.world().agents.length === 0 && other.view.staleness().connected, 10_000);
  const two = await timeWithTwo(eventually(async () => (await leaderKeyExists()) && leaders() === 1, 20_000));
  expect(two).toBeLessThan(LEADER_TTL_SEC * 1_000);
});

it('the key of the elected process deleted: whoever takes it is the only one', async () => {
  const [leader, other] = await startTwo();
  await admin.etcd.delete().key(`${admin.options.keyPrefix}/default/leader/health-prober`);
  const two = await timeWithTwo(eventually(async () => (await leaderKeyExists()) && leaders() === 1, 20_000));
  expect(two).toBeLessThan(LEADER_TTL_SEC * 1_000);
  await sleep(4_000);
  expect([leader, other].filter(({ prober }) => prober.isProbing)).toHaveLength(1);
});

it('results that vanish are written again at once, not when the lease is due', async () => {
  const [, other] = await startTwo();
  target.status = 500;
  await eventually(() => health(other) === 'failing');
  const prefix = `${admin.options.keyPrefix}/default/registry/health/`;
  const { kvs } = await admin.etcd.getAll().prefix(prefix).exec();
  await admin.etcd.leaseClient.leaseRevoke({ ID: kvs[0]!.lease });
  await eventually(async () => (await admin.etcd.getAll().prefix(prefix).exec()).kvs[0]?.lease !== undefined, 15_000);
  await eventually(() => health(other) === 'failing');
});

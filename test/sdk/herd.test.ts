import { setTimeout as sleep } from 'node:timers/promises';
import { Registry } from '../../src/registry';
import { HeartbeatSchedule, type Beat } from '../../src/sdk/heartbeat-schedule';
import { LeaseKeeper, type KeptLease, type LeaseApi } from '../../src/sdk/lease-keeper';
import { monotonic } from '../../src/sdk/time';
import { startPrivateEtcd, type PrivateEtcd } from '../registry/outages/support';
import { descriptorOf, eventually, openPlace, type Place } from '../registry/support';

/** Fewer where leases are short: what is tested is who returns when, not how many heartbeats a busy machine takes. */
const FEW_AGENTS = 100;
const AGENTS = 300;
const TTL_SEC = 15;
const INTERVAL_MS = 3_000;
const BUCKET_MS = 250;

/** One request of one agent. */
interface Attempt {
  agent: number;
  kind: 'beat' | 'register';
  atMs: number;
  ok: boolean;
}

/** An agent that is nothing but its registration, straight on the registry. */
class Member implements LeaseApi {
  readonly keeper: LeaseKeeper;
  readonly lost: string[] = [];
  epoch = '';

  constructor(
    readonly id: number,
    private readonly registry: Registry,
    private readonly options: { ttlSec: number; attempts: Attempt[] },
  ) {
    const listener = {
      registered: (lease: KeptLease) => void (this.epoch = lease.epoch),
      lost: (reason: string) => void this.lost.push(reason),
      superseded: (reason: string) => void this.lost.push(`superseded: ${reason}`),
      error: () => undefined,
      recovered: () => undefined,
    };
    this.keeper = new LeaseKeeper(this, listener, { clock: monotonic, random: seeded(id), intervalMs: INTERVAL_MS });
  }

  get name(): string {
    return `member-${this.id}`;
  }

  async register(): Promise<KeptLease> {
    return this.#attempt('register', async () => {
      await this.registry.registerDescriptor(descriptorOf({ name: 'herd' }));
      const request = { version: '1.0.0', ttl_sec: this.options.ttlSec };
      const { epoch, ttl_sec } = await this.registry.registerInstance('herd', this.name, request);
      return { epoch, ttlSec: ttl_sec };
    });
  }

  async beat(epoch: string, { timeoutMs }: Beat, signal: AbortSignal): Promise<number> {
    return this.#attempt('beat', async () => {
      const answer = this.registry.heartbeat('herd', this.name, { epoch, status: 'ready', load: 0 });
      const late = new Promise<never>((_resolve, reject) => {
        const timeout = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
        timeout.addEventListener('abort', () => reject(new Error('the heartbeat timed out')));
      });
      return (await Promise.race([answer, late])).remaining_sec;
    });
  }

  async #attempt<T>(kind: Attempt['kind'], run: () => Promise<T>): Promise<T> {
    const attempt: Attempt = { agent: this.id, kind, atMs: performance.now(), ok: false };
    this.options.attempts.push(attempt);
    const answer = await run();
    attempt.ok = true;
    return answer;
  }
}

/** Park–Miller: the same numbers in every run. */
function seeded(seed: number): () => number {
  let state = (seed + 1) * 7_919;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

function largestBucket(attempts: Attempt[]): number {
  const buckets = new Map<number, number>();
  for (const { atMs } of attempts)
    buckets.set(Math.floor(atMs / BUCKET_MS), (buckets.get(Math.floor(atMs / BUCKET_MS)) ?? 0) + 1);
  return Math.max(0, ...buckets.values());
}

function mostPerAgent(attempts: Attempt[]): number {
  const counts = new Map<number, number>();
  for (const { agent } of attempts) counts.set(agent, (counts.get(agent) ?? 0) + 1);
  return Math.max(0, ...counts.values());
}

let etcd: PrivateEtcd;
let place: Place;
let members: Member[];
let attempts: Attempt[];

beforeEach(async () => {
  members = [];
  etcd = await startPrivateEtcd();
  place = openPlace(etcd.address);
});
afterEach(async () => {
  etcd.thaw();
  await Promise.all(members.map(({ keeper }) => keeper.stop()));
  await place.close();
  await etcd.stop();
});

/** Everybody registers within a moment, as after a deployment, and beats for one interval. */
async function gather({ ttlSec = TTL_SEC, count = AGENTS } = {}): Promise<void> {
  const registry = new Registry(place.options);
  place.onClose(() => registry.close());
  attempts = [];
  members = Array.from({ length: count }, (_, id) => new Member(id, registry, { ttlSec, attempts }));
  await Promise.all(members.map(({ keeper }) => keeper.start(20_000)));
  for (const { keeper } of members) keeper.keep();
  await everybodyBeat();
  expect(await present()).toBe(count);
}

/** Waits for a round of heartbeats and leaves nothing but these in the journal. */
async function everybodyBeat(): Promise<void> {
  attempts.length = 0;
  await eventually(() => new Set(attempts.map(({ agent }) => agent)).size === members.length, 10_000);
}

/** Registrations in etcd. */
async function present(): Promise<number> {
  const { kvs } = await place.etcd.getAll().prefix(`${place.options.keyPrefix}/default/registry/instance/`).exec();
  return kvs.length;
}

/** Agents that were served since a moment. */
const servedSince = (ms: number) => new Set(attempts.filter(({ ok, atMs }) => ok && atMs >= ms).map((a) => a.agent));

/** Waits until everybody was served; answers how long that took and what was asked since. */
async function recovery(backMs: number, ttlSec: number): Promise<{ tookMs: number; asked: Attempt[] }> {
  await eventually(
    () => servedSince(backMs).size === members.length && members.every(({ keeper }) => keeper.state === 'registered'),
    3 * ttlSec * 1_000,
  );
  const tookMs = performance.now() - backMs;
  expect(await present()).toBe(members.length);
  const firstServed = new Map<number, number>();
  for (const { agent, ok, atMs } of attempts)
    if (ok && atMs >= backMs && !firstServed.has(agent)) firstServed.set(agent, atMs);
  return { tookMs, asked: attempts.filter(({ agent, atMs }) => atMs <= firstServed.get(agent)!) };
}

it('etcd killed and restarted: nobody has to register anew, and nobody comes back in step (R05)', async () => {
  await gather();
  // Phases: the beats of one interval spread over it.
  await everybodyBeat();
  expect(largestBucket(attempts)).toBeLessThanOrEqual(attempts.length / 4);
  const epochs = members.map(({ epoch }) => epoch);
  attempts.length = 0;
  await etcd.crash();
  await eventually(() => attempts.filter(({ ok }) => !ok).length > AGENTS / 2, 10_000);
  await etcd.restart();
  const backMs = performance.now();
  const { tookMs, asked } = await recovery(backMs, TTL_SEC);
  expect(tookMs).toBeLessThan(3 * TTL_SEC * 1_000);
  expect(largestBucket(asked)).toBeLessThanOrEqual(asked.length / 4);
  expect(mostPerAgent(asked.filter(({ atMs }) => atMs >= backMs))).toBeLessThanOrEqual(6);
  // etcd gives leases their whole time again when it starts: nobody needs to register anew, nobody took another's place.
  expect(members.map(({ epoch }) => epoch)).toEqual(epochs);
});

it('etcd came back empty: all register anew, spread out, each with few attempts (R05)', async () => {
  await gather();
  attempts.length = 0;
  await etcd.crash();
  await etcd.replace();
  const backMs = performance.now();
  const { tookMs, asked } = await recovery(backMs, TTL_SEC);
  expect(tookMs).toBeLessThan(3 * TTL_SEC * 1_000);
  const registrations = asked.filter(({ kind }) => kind === 'register');
  expect(new Set(registrations.map(({ agent }) => agent)).size).toBe(AGENTS);
  expect(largestBucket(registrations)).toBeLessThanOrEqual(registrations.length / 4);
  expect(mostPerAgent(asked.filter(({ atMs }) => atMs >= backMs))).toBeLessThanOrEqual(6);
});

it('etcd frozen for longer than the leases: all that ended together does not return together (R05)', async () => {
  const ttlSec = 6;
  await gather({ ttlSec, count: FEW_AGENTS });
  expect(members.flatMap(({ lost }) => lost)).toEqual([]);
  etcd.freeze();
  const frozenMs = performance.now();
  await eventually(() => members.every(({ keeper }) => keeper.state === 'lost'), (ttlSec + 1) * 1_000);
  expect(performance.now() - frozenMs).toBeLessThan(ttlSec * 1_000 + 200);
  await sleep(2_000);
  etcd.thaw();
  const backMs = performance.now();
  const { tookMs } = await recovery(backMs, ttlSec);
  expect(tookMs).toBeLessThan(2 * ttlSec * 1_000);
  const registrations = attempts.filter(({ kind, atMs }) => kind === 'register' && atMs >= backMs);
  expect(new Set(registrations.map(({ agent }) => agent)).size).toBe(FEW_AGENTS);
  expect(largestBucket(registrations)).toBeLessThanOrEqual(registrations.length / 4);
  expect(mostPerAgent(registrations)).toBeLessThanOrEqual(6);
  expect(members.every(({ lost }) => lost.length === 1)).toBe(true);
});

it('two agents with different seeds keep different schedules (R05)', () => {
  const pauses = (seed: number) => {
    const schedule = new HeartbeatSchedule({ clock: () => 0, random: seeded(seed) });
    schedule.leased(TTL_SEC, 0);
    return Array.from({ length: 8 }, (_, n) => {
      if (n >= 4) schedule.failed();
      schedule.beat();
      return schedule.nextDelayMs();
    });
  };
  expect(pauses(1)).toEqual(pauses(1));
  const [one, two] = [pauses(1), pauses(2)];
  for (const [n, pause] of one.entries()) expect(pause).not.toBe(two[n]);
});

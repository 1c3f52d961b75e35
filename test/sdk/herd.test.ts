/**
 * R05: 300 agents and an etcd that goes away. Who asks when is a matter of schedules, so it is simulated in virtual time with
 * the SDK's own lease keepers; that a real etcd behaves as the simulated one is shown with fewer agents at the end.
 */
import { ReachError } from '../../src/protocol/reach-error';
import { Registry } from '../../src/registry';
import { HeartbeatSchedule, type Beat } from '../../src/sdk/heartbeat-schedule';
import { LeaseKeeper, type KeptLease, type LeaseApi } from '../../src/sdk/lease-keeper';
import { monotonic } from '../../src/sdk/time';
import { startPrivateEtcd } from '../registry/outages/support';
import { descriptorOf, eventually, openPlace } from '../registry/support';

const AGENTS = 300;
const TTL_SEC = 15;
const INTERVAL_MS = 3_000;
const BUCKET_MS = 250;
/** An answer takes this long, ms. */
const ANSWER_MS = 5;

/** One request of one agent. */
interface Attempt {
  agent: number;
  kind: 'beat' | 'register';
  atMs: number;
  ok: boolean;
}

/** The registry as agents see it: leases in virtual time, and an etcd behind it that refuses, hangs or is empty. */
class SimulatedRegistry {
  readonly attempts: Attempt[] = [];
  mode: 'up' | 'refusing' | 'hanging' = 'up';
  private readonly leases = new Map<number, { epoch: string; untilMs: number }>();
  private epochs = 0;
  private waiting: (() => void)[] = [];

  async register(agent: number): Promise<KeptLease> {
    return this.ask(agent, 'register', () => {
      this.epochs += 1;
      const epoch = String(this.epochs);
      this.leases.set(agent, { epoch, untilMs: performance.now() + TTL_SEC * 1_000 });
      return { epoch, ttlSec: TTL_SEC };
    });
  }

  async beat(agent: number, epoch: string, timeoutMs: number): Promise<number> {
    const answer = this.ask(agent, 'beat', () => {
      const lease = this.leases.get(agent);
      if (!lease || lease.untilMs <= performance.now()) throw new ReachError('lease_expired', 'gone');
      if (lease.epoch !== epoch) throw new ReachError('stale_epoch', 'replaced');
      lease.untilMs = performance.now() + TTL_SEC * 1_000;
      return TTL_SEC;
    });
    return Promise.race([answer, after(timeoutMs).then(() => Promise.reject(unavailable()))]);
  }

  /** Back again; as a restarted etcd does, it gives every lease its whole time anew. */
  restart(): void {
    for (const lease of this.leases.values()) lease.untilMs = performance.now() + TTL_SEC * 1_000;
    this.mode = 'up';
  }

  /** Back again, with nothing kept. */
  replace(): void {
    this.leases.clear();
    this.mode = 'up';
  }

  /** Goes on where it was frozen; leases have run out meanwhile. */
  thaw(): void {
    this.mode = 'up';
    this.waiting.splice(0).forEach((resume) => resume());
  }

  private async ask<T>(agent: number, kind: Attempt['kind'], answer: () => T): Promise<T> {
    const attempt: Attempt = { agent, kind, atMs: performance.now(), ok: false };
    this.attempts.push(attempt);
    await after(ANSWER_MS);
    if (this.mode === 'refusing') throw unavailable();
    if (this.mode === 'hanging') await new Promise<void>((resume) => this.waiting.push(resume));
    const value = answer();
    attempt.ok = true;
    return value;
  }
}

const after = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const unavailable = () => new ReachError('engine_unavailable', 'etcd is away', { retryAfterMs: 1_000 });

/** Park–Miller: the same numbers in every run. */
function seeded(seed: number): () => number {
  let state = (seed + 1) * 7_919;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

/** An agent that is nothing but its registration. */
function member(id: number, api: LeaseApi): { keeper: LeaseKeeper; epochs: string[]; lost: string[] } {
  const epochs: string[] = [];
  const lost: string[] = [];
  const listener = {
    registered: ({ epoch }: KeptLease) => void epochs.push(epoch),
    lost: (reason: string) => void lost.push(reason),
    superseded: (reason: string) => void lost.push(`superseded: ${reason}`),
    error: () => undefined,
    recovered: () => undefined,
  };
  const options = { clock: monotonic, random: seeded(id), intervalMs: INTERVAL_MS };
  return { keeper: new LeaseKeeper(api, listener, options), epochs, lost };
}

function largestBucket(attempts: readonly Attempt[]): number {
  const buckets = new Map<number, number>();
  for (const { atMs } of attempts) {
    const bucket = Math.floor(atMs / BUCKET_MS);
    buckets.set(bucket, (buckets.get(bucket) ?? 0) + 1);
  }
  return Math.max(0, ...buckets.values());
}

function mostPerAgent(attempts: readonly Attempt[]): number {
  const counts = new Map<number, number>();
  for (const { agent } of attempts) counts.set(agent, (counts.get(agent) ?? 0) + 1);
  return Math.max(0, ...counts.values());
}

describe('300 agents in virtual time', () => {
  let registry: SimulatedRegistry;
  let members: ReturnType<typeof member>[];

  beforeEach(async () => {
    jest.useFakeTimers();
    registry = new SimulatedRegistry();
    members = Array.from({ length: AGENTS }, (_, id) =>
      member(id, {
        register: () => registry.register(id),
        beat: (epoch: string, { timeoutMs }: Beat) => registry.beat(id, epoch, timeoutMs),
      }),
    );
    const started = Promise.all(members.map(({ keeper }) => keeper.start(20_000)));
    await jest.advanceTimersByTimeAsync(100);
    await started;
    for (const { keeper } of members) keeper.keep();
    await jest.advanceTimersByTimeAsync(3 * INTERVAL_MS);
    registry.attempts.length = 0;
  });
  afterEach(async () => {
    const stopped = Promise.all(members.map(({ keeper }) => keeper.stop()));
    await jest.advanceTimersByTimeAsync(60_000);
    await stopped;
    jest.useRealTimers();
  });

  /** What was asked from a moment on, by each agent until it was served. */
  function untilServed(sinceMs: number): Attempt[] {
    const servedMs = new Map<number, number>();
    for (const { agent, ok, atMs } of registry.attempts)
      if (ok && atMs >= sinceMs && !servedMs.has(agent)) servedMs.set(agent, atMs);
    expect(servedMs.size).toBe(AGENTS);
    expect(Math.max(...servedMs.values()) - sinceMs).toBeLessThan(3 * TTL_SEC * 1_000);
    return registry.attempts.filter(({ agent, atMs }) => atMs >= sinceMs && atMs <= servedMs.get(agent)!);
  }

  it('beat all over the interval, not in step', async () => {
    await jest.advanceTimersByTimeAsync(INTERVAL_MS);
    expect(registry.attempts.length).toBeGreaterThan(AGENTS * 0.8);
    expect(largestBucket(registry.attempts)).toBeLessThanOrEqual(registry.attempts.length / 4);
  });

  it.each([1_000, 4_000, 10_000])(
    'etcd restarted after %i ms: nobody registers anew, nobody comes in step',
    async (awayMs) => {
      registry.mode = 'refusing';
      await jest.advanceTimersByTimeAsync(awayMs);
      registry.restart();
      const backMs = performance.now();
      await jest.advanceTimersByTimeAsync(3 * TTL_SEC * 1_000);
      const asked = untilServed(backMs);
      expect(asked.filter(({ kind }) => kind === 'register')).toEqual([]);
      expect(largestBucket(asked)).toBeLessThanOrEqual(asked.length / 4);
      expect(mostPerAgent(asked)).toBeLessThanOrEqual(6);
      expect(members.every(({ epochs }) => epochs.length === 1)).toBe(true);
    },
  );

  it('etcd came back empty: all register anew, spread out, each with few attempts', async () => {
    registry.mode = 'refusing';
    await jest.advanceTimersByTimeAsync(2_000);
    registry.replace();
    const backMs = performance.now();
    await jest.advanceTimersByTimeAsync(3 * TTL_SEC * 1_000);
    const registrations = untilServed(backMs).filter(({ kind }) => kind === 'register');
    expect(new Set(registrations.map(({ agent }) => agent)).size).toBe(AGENTS);
    expect(largestBucket(registrations)).toBeLessThanOrEqual(registrations.length / 4);
    expect(mostPerAgent(untilServed(backMs))).toBeLessThanOrEqual(6);
  });

  it('etcd frozen for longer than the leases: all that ended together does not return together', async () => {
    registry.mode = 'hanging';
    await jest.advanceTimersByTimeAsync((TTL_SEC + 1) * 1_000);
    expect(members.every(({ keeper }) => keeper.state === 'lost')).toBe(true);
    registry.thaw();
    const backMs = performance.now();
    await jest.advanceTimersByTimeAsync(2 * TTL_SEC * 1_000);
    const registrations = registry.attempts.filter(({ kind, atMs }) => kind === 'register' && atMs >= backMs);
    expect(new Set(registrations.map(({ agent }) => agent)).size).toBe(AGENTS);
    expect(largestBucket(registrations)).toBeLessThanOrEqual(registrations.length / 4);
    expect(mostPerAgent(registrations)).toBeLessThanOrEqual(6);
    expect(members.every(({ lost }) => lost.length === 1)).toBe(true);
    expect(members.every(({ keeper }) => keeper.state === 'registered')).toBe(true);
  });
});

it('two agents with different seeds keep different schedules', () => {
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

it('a real etcd that is killed gives leases their whole time again: nobody has to register anew', async () => {
  const few = 40;
  const etcd = await startPrivateEtcd();
  const place = openPlace(etcd.address);
  const registry = new Registry(place.options);
  place.onClose(() => registry.close());
  const served = new Set<number>();
  const request = { version: '1.0.0', ttl_sec: TTL_SEC };
  const members = Array.from({ length: few }, (_, id) =>
    member(id, {
      async register() {
        const { epoch, ttl_sec } = await registry.registerInstance('herd', `member-${id}`, request);
        return { epoch, ttlSec: ttl_sec };
      },
      async beat(epoch) {
        const { remaining_sec } = await registry.heartbeat('herd', `member-${id}`, { epoch, status: 'ready', load: 0 });
        served.add(id);
        return remaining_sec;
      },
    }),
  );
  try {
    await registry.registerDescriptor(descriptorOf({ name: 'herd' }));
    await Promise.all(members.map(({ keeper }) => keeper.start(20_000)));
    for (const { keeper } of members) keeper.keep();
    await eventually(() => served.size === few, 20_000);
    await etcd.crash();
    await etcd.restart();
    served.clear();
    await eventually(() => served.size === few, 3 * TTL_SEC * 1_000);
    expect(members.every(({ epochs }) => epochs.length === 1)).toBe(true);
  } finally {
    await Promise.all(members.map(({ keeper }) => keeper.stop()));
    await place.close();
    await etcd.stop();
  }
});

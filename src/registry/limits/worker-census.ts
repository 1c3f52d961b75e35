import { randomUUID } from 'node:crypto';
import { systemClock, type Clock } from '../clock';
import { ETCD_CALL_TIMEOUT_MS, isOutOfSpace } from '../etcd/etcd-client';
import { putOp } from '../etcd/etcd-ops';
import { LeaseKeeper } from '../etcd/lease-keeper';
import { OwnLease } from '../etcd/own-lease';
import { Keyspace } from '../keys';
import type { Logger } from '../logger';
import { PrefixMirror, type MirrorChange } from '../mirror/prefix-mirror';
import { DEFAULT_KEY_PREFIX, type RegistryOptions } from '../registry';
import { Ticker } from '../ticker';
import { Membership } from './membership';

/** A worker that died is counted for this long, and up to a second more. */
const WORKER_TTL_SEC = 10;
const AUDIT_MS = 30_000;
const TICK_MS = 250;

export interface WorkerCensusOptions extends RegistryOptions {
  /** Name of this process among the workers. Default: random. */
  workerId?: string;
}

/**
 * Who makes calls now, so that limits of the whole platform can be divided without asking anybody per call (R27, R29).
 * Each process announces itself by a key under a short lease and follows the others'. While etcd is away the last known
 * census stands.
 */
export class WorkerCensus {
  readonly workerId: string;
  private readonly keys: Keyspace;
  private readonly logger: Logger;
  private readonly keeper: LeaseKeeper;
  private readonly lease: OwnLease;
  private readonly mirror: PrefixMirror;
  private readonly membership: Membership;
  private readonly ticker = new Ticker(TICK_MS, () => this.tick());
  private readonly listeners = new Set<() => void>();
  private onVisible: () => void = () => undefined;
  private running = false;
  /** etcd has no space for the own key. */
  private isRefused = false;

  constructor({
    etcd,
    keyPrefix = DEFAULT_KEY_PREFIX,
    tenant,
    logger,
    clock = systemClock,
    workerId = randomUUID(),
  }: WorkerCensusOptions) {
    this.workerId = workerId;
    this.keys = new Keyspace(keyPrefix, tenant);
    this.logger = logger;
    this.keeper = new LeaseKeeper(etcd);
    const monotonicMs = () => clock.monotonicMs();
    this.lease = new OwnLease({ etcd, keeper: this.keeper, logger, ttlSec: WORKER_TTL_SEC, monotonicMs });
    this.membership = new Membership(workerId, monotonicMs);
    this.mirror = this.mirrorOf(etcd, clock);
  }

  /**
   * Reads who is there, announces this process and waits until it is visible. Alone it may give out whole limits at
   * once, else after a second. @throws ReachError `engine_unavailable`; may be called again
   */
  async start(): Promise<void> {
    if (this.running) return;
    await this.mirror.start();
    this.running = true;
    const visible = new Promise<void>((resolve) => (this.onVisible = resolve));
    await this.announce();
    if (!this.isRefused) await withinMs(visible, ETCD_CALL_TIMEOUT_MS);
    this.membership.begin();
    this.ticker.start();
    this.tell();
  }

  /** Leaves: from now on this process's share is 0 and the others divide it. */
  async stop(): Promise<void> {
    this.running = false;
    await this.ticker.stop();
    await this.mirror.stop();
    this.lease.release();
    this.keeper.close();
    this.tell();
  }

  /** Workers that the limits are divided by. */
  get count(): number {
    return this.membership.count;
  }

  /**
   * This process's part of a limit of the platform: ⌊limit/workers⌋, and one more for the first (limit mod workers) by
   * id, so that all parts sum to the limit. With a `key`, the first are counted from another place for each key, so that
   * many small limits do not all fall to the same worker. 0 until the others have made room, and after {@link stop}; 1 at
   * most while etcd has no space to announce this worker.
   */
  share(limit: number, key?: string): number {
    return this.running ? this.membership.share(limit, key) : 0;
  }

  /** Tells when shares may have changed. Answers how to stop being told. */
  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  private mirrorOf(etcd: RegistryOptions['etcd'], clock: Clock): PrefixMirror {
    return new PrefixMirror({
      etcd,
      prefix: this.keys.workers,
      refreshIntervalMs: AUDIT_MS,
      logger: this.logger,
      clock,
      onChanges: (changes) => this.take(changes),
    });
  }

  private take(changes: MirrorChange[]): void {
    for (const { key, entry } of changes) {
      const [id] = this.keys.partsUnder(this.keys.workers, key, 1) ?? [];
      if (id === undefined) continue;
      this.membership.see(id, entry !== null);
      if (id === this.workerId && entry !== null) this.onVisible();
    }
    this.settle();
  }

  private async tick(): Promise<void> {
    this.settle();
    await this.announce();
  }

  private settle(): void {
    if (this.membership.settle(this.mirror.staleness().connected)) this.tell();
  }

  private async announce(): Promise<void> {
    try {
      const { id, isNew } = await this.lease.ensure();
      if (!isNew && this.membership.isPresent(this.workerId)) return;
      const value = JSON.stringify({ v: 1 });
      await this.lease.write([putOp(this.keys.under(this.keys.workers, this.workerId), value, id)]);
      this.refused(false);
    } catch (error) {
      this.refused(isOutOfSpace(error));
      this.logger.debug({ error }, 'this worker could not announce itself; trying again');
    }
  }

  private refused(isRefused: boolean): void {
    if (isRefused && !this.isRefused)
      this.logger.warn(
        {},
        'etcd is out of space: this worker makes one call to each agent at a time until it can be announced',
      );
    this.isRefused = isRefused;
    if (this.membership.noSpace(isRefused)) this.tell();
  }

  private tell(): void {
    for (const listener of this.listeners) listener();
  }
}

async function withinMs(promise: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
  await Promise.race([promise, timeout]);
  clearTimeout(timer);
}

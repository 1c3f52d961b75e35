import { randomUUID } from 'node:crypto';
import type { IRequestOp } from 'etcd3';
import { systemClock, type Clock } from '../clock';
import { LeaseKeeper } from '../etcd/lease-keeper';
import { OwnLease } from '../etcd/own-lease';
import { Keyspace } from '../keys';
import type { Logger } from '../logger';
import { PrefixMirror, type MirrorChange } from '../mirror/prefix-mirror';
import { DEFAULT_KEY_PREFIX, type RegistryOptions } from '../registry';
import { Ticker } from '../ticker';

/** What a process that died told vanishes after this long. */
const DIGEST_TTL_SEC = 15;
const DEFAULT_PUBLISH_MS = 1_000;
const AUDIT_MS = 30_000;
/** Periods in a row of which something could not be published before people are told, and how often they are told again. */
const FAILURES_TO_WARN = 5;
const WARN_AGAIN_EVERY = 60;
/** So many agents are named in a log line. */
const MAX_NAMED = 10;

export interface DigestExchangeOptions extends RegistryOptions {
  /** How often what changed is published, ms. Default 1000. */
  publishIntervalMs?: number;
}

/** What a process has to tell the others now. */
export interface Publication {
  /** By agent. */
  writes: ReadonlyMap<string, IRequestOp[]>;
  /** Not everything of these agents reached etcd: to be told again. */
  takeBack(names: readonly string[]): void;
}

/** What is exchanged: one process's side of it. */
export interface DigestSource {
  /** What it is, for the log. */
  what: string;
  /** The prefix of the keyspace that all processes' digests lie below. */
  prefixOf(keys: Keyspace): string;
  /** A period has passed; called whether or not etcd answers. */
  advance(): void;
  /** Nothing of what was published exists any more. */
  forgetTold(): void;
  /** What changed since last time, to be written under the lease. */
  publication(leaseId: string): Publication;
  /** Takes over what other processes, and this one, published. Must not throw. */
  apply(changes: MirrorChange[]): void;
}

/**
 * Digests that processes tell each other through etcd: each publishes what changed once a second, under a lease of its own, and
 * follows what the others publish. Nothing waits for etcd.
 */
export class DigestExchange {
  readonly processId = randomUUID();
  readonly keys: Keyspace;
  readonly clock: Clock;
  private readonly logger: Logger;
  private readonly keeper: LeaseKeeper;
  private readonly lease: OwnLease;
  private readonly mirror: PrefixMirror;
  private readonly ticker: Ticker;
  /** Periods in a row of which something could not be published. */
  private failures = 0;

  constructor(
    options: DigestExchangeOptions,
    private readonly source: DigestSource,
  ) {
    const { etcd, keyPrefix = DEFAULT_KEY_PREFIX, tenant, logger, clock = systemClock } = options;
    this.keys = new Keyspace(keyPrefix, tenant);
    [this.logger, this.clock] = [logger, clock];
    this.keeper = new LeaseKeeper(etcd);
    const monotonicMs = () => clock.monotonicMs();
    this.lease = new OwnLease({ etcd, keeper: this.keeper, logger, ttlSec: DIGEST_TTL_SEC, monotonicMs });
    const onChanges = (changes: MirrorChange[]) => source.apply(changes);
    const prefix = source.prefixOf(this.keys);
    this.mirror = new PrefixMirror({ etcd, prefix, refreshIntervalMs: AUDIT_MS, logger, clock, onChanges });
    this.ticker = new Ticker(options.publishIntervalMs ?? DEFAULT_PUBLISH_MS, () => this.tick());
  }

  /** Begins to publish and to follow the others. @throws ReachError `engine_unavailable`; may be called again. */
  async start(): Promise<void> {
    await this.mirror.start();
    this.ticker.start();
  }

  /** Withdraws this process's digests. What was seen stays with the source. */
  async stop(): Promise<void> {
    await this.ticker.stop();
    await this.mirror.stop();
    this.lease.release();
    this.keeper.close();
  }

  private async tick(): Promise<void> {
    this.source.advance();
    const lost: string[] = [];
    try {
      const { id, isNew } = await this.lease.ensure();
      if (isNew) this.source.forgetTold();
      await this.publish(this.source.publication(id), lost);
      this.failures = 0;
    } catch (error) {
      this.noteFailure(error, lost);
    }
  }

  /** @param lost takes the names of agents of which something was not written */
  private async publish({ writes, takeBack }: Publication, lost: string[]): Promise<void> {
    await this.lease.write([...writes.values()].flat(), undefined, (unwritten) => {
      const missing = new Set(unwritten);
      const names = [...writes].filter(([, own]) => own.some((write) => missing.has(write))).map(([name]) => name);
      takeBack(names);
      lost.push(...names);
    });
  }

  /** What fails again and again does not mend itself, and others decide by what they were told before. */
  private noteFailure(error: unknown, lost: readonly string[]): void {
    this.failures += 1;
    const facts = { error, failures: this.failures, agents: lost.slice(0, MAX_NAMED), agentCount: lost.length };
    const message = `${this.source.what} could not be published; trying again`;
    if (this.failures % WARN_AGAIN_EVERY === FAILURES_TO_WARN) this.logger.warn(facts, message);
    else this.logger.debug(facts, message);
  }
}

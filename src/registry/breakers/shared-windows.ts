import type { Etcd3, IRequestOp } from 'etcd3';
import { OutcomeWindow, type BreakerSettings, type SeenDigest } from '../../policy/breaker';
import type { BreakerKey } from '../../protocol/reliability';
import type { Clock } from '../clock';
import { deleteOp, putOp } from '../etcd/etcd-ops';
import type { LeaseKeeper } from '../etcd/lease-keeper';
import { OwnLease } from '../etcd/own-lease';
import type { Keyspace } from '../keys';
import type { Logger } from '../logger';
import type { MirrorChange } from '../mirror/prefix-mirror';
import { AbilityMap } from './ability-map';
import { decodeDigest, encodeDigest, parseWindowKey, windowKey, type EpochDigest } from './breaker-codec';

/** The digests of a process that died vanish after this long. */
const DIGEST_TTL_SEC = 15;
/** Digests are written anew after this long even when nothing changed: a process that starts takes them for fresh. */
const REWRITE_MS = 5_000;

export interface SharedWindowsOptions {
  etcd: Etcd3;
  keys: Keyspace;
  keeper: LeaseKeeper;
  logger: Logger;
  clock: Clock;
  settings: BreakerSettings;
  processId: string;
}

/** The window of one ability in this process. */
export interface OwnWindow {
  readonly epoch: string;
  readonly window: OutcomeWindow;
  /** Since when the error rate of all processes is too high, monotonic ms; null: it is not. */
  highSinceMs: number | null;
  /** What the others were told: version of the window, and when. */
  told: { version: number; atMs: number } | null;
}

interface RemoteDigest extends EpochDigest {
  receivedMs: number;
  isBad: boolean;
}

/**
 * What all processes saw of each ability lately. Each counts its own calls, and as long as anybody saw one fail (or be
 * slow) all that called the ability publish a digest under a lease, with ages instead of times: clocks need not agree.
 */
export class SharedWindows {
  private own = new AbilityMap<OwnWindow>();
  private readonly remote = new AbilityMap<Map<string, RemoteDigest>>();
  /** Keys in etcd by this process. */
  private readonly published = new Set<string>();
  private readonly lease: OwnLease;

  constructor(private readonly options: SharedWindowsOptions) {
    const { clock } = options;
    this.lease = new OwnLease({ ...options, ttlSec: DIGEST_TTL_SEC, monotonicMs: () => clock.monotonicMs() });
  }

  /** Counts a call of this process under an epoch; a new epoch begins with nothing. */
  add(key: BreakerKey, epoch: string, call: { failed: boolean; durationMs: number }): void {
    let own = this.own.get(key);
    if (own?.epoch !== epoch) {
      own = { epoch, window: new OutcomeWindow(this.options.settings), highSinceMs: null, told: null };
      this.own.set(key, own);
    }
    own.window.add(call.failed, call.durationMs, this.options.clock.monotonicMs());
  }

  /** What was counted under an epoch, here and elsewhere. */
  digests(key: BreakerKey, epoch: string): SeenDigest[] {
    const nowMs = this.options.clock.monotonicMs();
    const own = this.own.get(key);
    const seen: SeenDigest[] = own?.epoch === epoch ? [{ digest: own.window.digest(nowMs), elapsedMs: 0 }] : [];
    for (const remote of this.remote.get(key)?.values() ?? [])
      if (remote.epoch === epoch) seen.push({ digest: remote.digest, elapsedMs: nowMs - remote.receivedMs });
    return seen;
  }

  /** Abilities of which something failed or was slow within the window, here or elsewhere. Forgets idle ones. */
  *suspicious(): Generator<[BreakerKey, OwnWindow]> {
    const nowMs = this.options.clock.monotonicMs();
    for (const [key, own] of this.own.entries()) {
      if (nowMs - own.window.lastMs >= this.options.settings.windowMs && own.told === null) this.own.delete(key);
      else if (own.window.isBad(nowMs) || this.isBadElsewhere(key, nowMs)) yield [key, own];
    }
  }

  /** Takes over what another process published. Answers whose windows these are; null: nothing to look at. */
  apply({ key: etcdKey, entry }: MirrorChange): BreakerKey | null {
    const place = parseWindowKey(this.options.keys, etcdKey);
    if (place === null || place.processId === this.options.processId) return null;
    const { key, processId } = place;
    const digest = entry && decodeDigest(entry.value);
    if (entry !== null && digest === null)
      this.options.logger.warn({ key: etcdKey }, 'skipped an unreadable record in etcd');
    const byProcess = this.remote.get(key) ?? new Map<string, RemoteDigest>();
    if (digest === null) byProcess.delete(processId);
    else byProcess.set(processId, { ...digest, receivedMs: this.options.clock.monotonicMs(), isBad: isBad(digest) });
    if (byProcess.size === 0) this.remote.delete(key);
    else this.remote.set(key, byProcess);
    return digest === null ? null : key;
  }

  /** Drops what this process counted. */
  forget(key: BreakerKey): void {
    this.own.delete(key);
  }

  forgetAgent(agentName: string, version?: string): void {
    this.own.deleteAgent(agentName, version);
  }

  /** Publishes what changed and withdraws what nobody asks for. Without failures etcd is not even asked for a lease. */
  async publish(): Promise<void> {
    const wanted = new Map([...this.suspicious()].map(([key, own]) => [this.keyOf(key), own]));
    const withdrawn = [...this.published].filter((etcdKey) => !wanted.has(etcdKey));
    if (wanted.size === 0 && withdrawn.length === 0) return;
    const lease = await this.lease.ensure();
    if (lease.isNew) this.published.clear();
    const nowMs = this.options.clock.monotonicMs();
    const changed = [...wanted].filter(([etcdKey, own]) => this.isNews(etcdKey, own, nowMs));
    const puts = changed.map(([etcdKey, { epoch, window }]): IRequestOp => {
      return putOp(etcdKey, encodeDigest({ epoch, digest: window.digest(nowMs) }), lease.id);
    });
    const told = changed.map(([etcdKey, own]) => ({ etcdKey, own, version: own.window.version }));
    await this.lease.write([...puts, ...withdrawn.map(deleteOp)]);
    for (const etcdKey of withdrawn) this.published.delete(etcdKey);
    for (const { etcdKey, own, version } of told) {
      own.told = { version, atMs: nowMs };
      this.published.add(etcdKey);
    }
    this.markUntold(wanted);
  }

  /** Gives the lease up and with it the digests. */
  release(): void {
    this.lease.release();
    this.published.clear();
  }

  private isNews(etcdKey: string, { told, window }: OwnWindow, nowMs: number): boolean {
    if (told === null || !this.published.has(etcdKey)) return true;
    return told.version !== window.version || nowMs - told.atMs >= REWRITE_MS;
  }

  /** What is not in etcd any more may be forgotten when it is idle. */
  private markUntold(wanted: ReadonlyMap<string, OwnWindow>): void {
    for (const [key, own] of this.own.entries()) if (own.told !== null && !wanted.has(this.keyOf(key))) own.told = null;
  }

  private keyOf(key: BreakerKey): string {
    return windowKey(this.options.keys, this.options.processId, key);
  }

  private isBadElsewhere(key: BreakerKey, nowMs: number): boolean {
    for (const { isBad, receivedMs } of this.remote.get(key)?.values() ?? [])
      if (isBad && nowMs - receivedMs < this.options.settings.windowMs) return true;
    return false;
  }
}

function isBad({ digest }: EpochDigest): boolean {
  return digest.buckets.some(([, , failed, slow]) => failed + slow > 0);
}

import { randomUUID } from 'node:crypto';
import {
  admissionOf,
  afterOutcome,
  assertBreakerSettings,
  NEVER_TRIPPED,
  sumWindows,
  type Admission,
  type BreakerRules,
  type BreakerSettings,
} from '../../policy/breaker';
import type {
  AdmissionMark,
  BreakerGate,
  BreakerKey,
  BreakerLookup,
  BreakerOutcome,
  BreakerOverride,
  BreakerState,
  BreakerTicket,
  BreakerView,
} from '../../protocol/reliability';
import { systemClock } from '../clock';
import { callEtcd } from '../etcd/etcd-client';
import { deletePrefixOp } from '../etcd/etcd-ops';
import { LeaseKeeper } from '../etcd/lease-keeper';
import { Keyspace } from '../keys';
import type { Logger } from '../logger';
import { PrefixMirror, type MirrorChange } from '../mirror/prefix-mirror';
import { DEFAULT_KEY_PREFIX, type RegistryOptions } from '../registry';
import { Ticker } from '../ticker';
import { AbilityMap } from './ability-map';
import type { BreakerCell } from './breaker-cell';
import { breakerKeysOf, parseBreakerKey } from './breaker-codec';
import { BreakerJudge } from './breaker-judge';
import { BreakerStates } from './breaker-states';
import { Overrides, type OverrideRequest } from './overrides';
import { SharedWindows } from './shared-windows';
import { circuitOpen, describeRecord, heldGate } from './wording';

const DEFAULT_TICK_MS = 1_000;
const AUDIT_MS = 30_000;
/** A call that may be the probe waits no longer than this for etcd to say so, ms. */
const CLAIM_PATIENCE_MS = 1_000;
/** How much longer than its budget a probe may take to be told, ms. */
const PROBE_GRACE_MS = 1_000;
/** Longest wait for one's own write to be seen, ms. */
const SEEN_PATIENCE_MS = 1_000;
/** How long a decision to probe keeps this process from deciding so again, ms. */
const OFFER_MS = 1_000;
/** When to ask again where an operator holds a breaker open, ms. */
const HELD_OPEN_RETRY_MS = 30_000;

const CLOSED_GATE: BreakerGate = Object.freeze({ share: 1, mark: null, detail: '', retryAfterMs: 0 });
const CLOSED_TICKET: BreakerTicket = Object.freeze({ mark: null, phase: '' });

export interface BreakerHubOptions extends RegistryOptions {
  settings: BreakerSettings;
  /** 0–1, for the shares. Default `Math.random`. */
  random?: () => number;
  /** Told once for each transition that this process made; for metrics. Must not throw. */
  onTransition?(key: BreakerKey, from: BreakerState, to: BreakerState, reason: string): void;
  /** How often windows are published and judged and recovery is stepped, ms. Default 1000. */
  tickMs?: number;
}

/** How a call comes to a breaker. */
export interface BreakerEntry {
  /** What the router decided; null when it saw the breaker closed. */
  mark: AdmissionMark | null;
  /** A further attempt of a reach that was let in before. */
  retry: boolean;
  /** What the attempt may take, ms: a probe that is silent for longer is lost. */
  budgetMs: number;
}

/**
 * The circuit breakers of the platform (R28), one per ability of a version of an agent, shared by all processes through etcd.
 * States are records changed by compare-and-set, windows are merged from what each process counted, the probe is claimed
 * by one process of all. Nothing but a claim waits for etcd, and healthy traffic writes nothing.
 */
export class BreakerHub implements BreakerLookup {
  private readonly keys: Keyspace;
  private readonly logger: Logger;
  private readonly random: () => number;
  private readonly rules: BreakerRules;
  private readonly keeper: LeaseKeeper;
  private readonly states: BreakerStates;
  private readonly judge: BreakerJudge;
  private readonly overrides: Overrides;
  private readonly windows: SharedWindows;
  private readonly records: PrefixMirror;
  private readonly mirrors: PrefixMirror[];
  private readonly tickers: Ticker[];
  private readonly listeners = new Set<() => void>();
  private readonly startedAt: string;
  private readonly wall: () => Date;

  /** @throws RangeError for settings that cannot work */
  constructor(private readonly options: BreakerHubOptions) {
    const { etcd, keyPrefix = DEFAULT_KEY_PREFIX, tenant, logger, settings, clock = systemClock } = options;
    assertBreakerSettings(settings);
    const tickMs = options.tickMs ?? DEFAULT_TICK_MS;
    this.keys = new Keyspace(keyPrefix, tenant);
    [this.logger, this.random] = [logger, options.random ?? Math.random];
    this.startedAt = clock.wall().toISOString();
    this.wall = () => clock.wall();
    this.rules = { settings, stamp: () => ({ phase: randomUUID(), since: clock.wall().toISOString() }) };
    this.keeper = new LeaseKeeper(etcd);
    const shared = { etcd, keys: this.keys, clock, logger };
    const { rules } = this;
    const { onTransition } = options;
    const onChange = () => this.changed();
    this.states = new BreakerStates({ ...shared, rules, onChange, ...(onTransition && { onTransition }) });
    this.overrides = new Overrides(shared);
    this.windows = new SharedWindows({ ...shared, keeper: this.keeper, settings, processId: randomUUID() });
    this.judge = new BreakerJudge({ states: this.states, windows: this.windows, rules, clock });
    const mirror = (prefix: string, onChanges: (changes: MirrorChange[]) => void) =>
      new PrefixMirror({ ...shared, prefix, refreshIntervalMs: AUDIT_MS, onChanges });
    this.records = mirror(this.keys.breakers, (changes) => this.applyRecords(changes));
    this.mirrors = [this.records, mirror(this.keys.breakerWindows, (changes) => this.applyWindows(changes))];
    this.tickers = [new Ticker(tickMs, () => this.tick()), new Ticker(tickMs, () => this.publish())];
  }

  /** Reads the states and follows them. @throws ReachError `engine_unavailable`; may be called again. */
  async start(): Promise<void> {
    for (const mirror of this.mirrors) await mirror.start();
    if (this.rules.settings.enabled) for (const ticker of this.tickers) ticker.start();
  }

  /** Stops following and withdraws what was published. For good. */
  async stop(): Promise<void> {
    await Promise.all(this.tickers.map((ticker) => ticker.stop()));
    await this.states.stop();
    await Promise.all(this.mirrors.map((mirror) => mirror.stop()));
    this.windows.release();
    this.keeper.close();
  }

  /** What the router needs. Claims nothing; for a breaker that never tripped it is a miss in two maps. */
  gate(key: BreakerKey): BreakerGate {
    const override = this.overrides.get(key);
    if (override !== undefined)
      return override.state === 'closed'
        ? CLOSED_GATE
        : { share: 0, mark: 'probe', ...heldGate(override), retryAfterMs: this.heldForMs(override) };
    const cell = this.active(key);
    if (cell === undefined || cell.current.state === 'closed') return CLOSED_GATE;
    const { share, mark, retryAfterMs } = this.admission(cell);
    // Between the decision and the claim there is a way to go: a probe is not offered to everybody meanwhile.
    const offered = mark === 'probe' && cell.sinceOfferedMs < Math.min(OFFER_MS, this.rules.settings.probeIntervalMs);
    const { state, since } = cell.current;
    return { share: offered ? 0 : share, mark, detail: describeRecord(cell.current), retryAfterMs, state, since };
  }

  private heldForMs({ expires_at }: BreakerOverride): number {
    if (expires_at === null) return HELD_OPEN_RETRY_MS;
    const leftMs = Date.parse(expires_at) - this.wall().getTime();
    return Math.max(1_000, Math.min(HELD_OPEN_RETRY_MS, leftMs));
  }

  /** A decision of this process let a marked call pass; the next one by the clock is due an interval later. */
  admitted(key: BreakerKey): void {
    this.active(key)?.marked();
  }

  /** What people see; with an override, its state. */
  view(key: BreakerKey): BreakerView {
    const record = this.active(key)?.current ?? NEVER_TRIPPED;
    const { ok, failed } = sumWindows(this.windows.digests(key, record.epoch), this.rules.settings);
    const requests = ok + failed;
    const counts = { error_rate: requests === 0 ? 0 : failed / requests, requests, share: this.shareOf(key) };
    const override = this.overrides.get(key);
    if (override !== undefined)
      return {
        state: override.state,
        since: override.set_at,
        ...counts,
        reason: override.reason,
        override: { ...override },
      };
    const { state, since, reason } = record;
    return { state, since: since || this.startedAt, ...counts, ...(reason && { reason }) };
  }

  /** The share as such, without the call that is due by the clock. */
  private shareOf(key: BreakerKey): number {
    const cell = this.active(key);
    if (this.overrides.get(key) !== undefined || cell === undefined || cell.claiming) return this.gate(key).share;
    const { share, mark } = admissionOf(cell.current, { phaseMs: cell.elapsedMs, markedMs: 0 }, this.rules.settings);
    return mark === 'probe' ? 0 : share;
  }

  /** All that are not closed, or held by an operator. */
  list(): { key: BreakerKey; view: BreakerView }[] {
    const keys = new AbilityMap<true>();
    for (const [key] of this.overrides.entries()) keys.set(key, true);
    for (const [key, cell] of this.states.entries())
      if (this.rules.settings.enabled && cell.current.state !== 'closed') keys.set(key, true);
    return [...keys.entries()].map(([key]) => ({ key, view: this.view(key) }));
  }

  /**
   * Asks leave for one attempt, right before it is made. Every ticket is to be {@link report}ed.
   *
   * @throws ReachError `circuit_open`, nothing sent, with `retryAfterMs`
   */
  async enter(key: BreakerKey, entry: BreakerEntry): Promise<BreakerTicket> {
    const override = this.overrides.get(key);
    if (override?.state === 'open') throw this.refusal(key);
    const cell = this.active(key);
    if (cell === undefined) return CLOSED_TICKET;
    const { state, phase } = cell.current;
    if (override !== undefined || state === 'closed') return { mark: null, phase };
    const { share, mark } = this.admission(cell);
    if (state === 'bypass' || state === 'recovering') {
      if (entry.retry || entry.mark === mark || this.random() < share) {
        cell.marked();
        return { mark, phase };
      }
    } else if (share > 0 && !entry.retry) {
      const claimed = await cell.claim(entry.budgetMs + PROBE_GRACE_MS, CLAIM_PATIENCE_MS);
      if (claimed !== null) return { mark: 'probe', phase: claimed };
    }
    throw this.refusal(key);
  }

  /** Tells how an attempt ended; what follows from it goes on in the background. Late ones change nothing. */
  report(key: BreakerKey, ticket: BreakerTicket, outcome: BreakerOutcome, durationMs: number): void {
    if (!this.rules.settings.enabled) return;
    const record = this.states.record(key);
    const late = ticket.phase !== record.phase;
    // What was under way when the bypass began is as much a proof of what is wrong as what tripped it.
    if (late && !(record.state === 'bypass' && ticket.phase === record.epoch)) return;
    const failed = outcome === 'failure';
    if (outcome !== 'neutral') this.windows.add(key, record.epoch, { failed, durationMs });
    if (late) return;
    if (record.state !== 'closed') {
      this.states.get(key)?.post((current) => afterOutcome(current, { ...ticket, outcome }, this.rules));
    } else if (failed) this.judge.lastCalls(key);
  }

  /** Holds breakers open or closed until it expires or is taken back. @throws ReachError `engine_unavailable` */
  async override(key: BreakerKey, request: OverrideRequest): Promise<void> {
    const revision = await this.overrides.set(key, request);
    const { agentName: agent, agentVersion: version, ability } = key;
    this.logger.warn({ agent, version, ability, ...request }, 'an operator holds a circuit breaker');
    await this.seen(revision);
  }

  /** Gives a breaker back to itself. @throws ReachError `engine_unavailable` */
  async clearOverride(key: BreakerKey): Promise<void> {
    const revision = await this.overrides.clear(key);
    const { agentName: agent, agentVersion: version, ability } = key;
    this.logger.info({ agent, version, ability }, 'a circuit breaker is on its own again');
    await this.seen(revision);
  }

  /** Forgets the breakers of a removed agent, or of one of its versions, everywhere. @throws ReachError `engine_unavailable` */
  async removeAgent(name: string, version?: string): Promise<void> {
    const { etcd } = this.options;
    const operations = (['state', 'override'] as const).map((kind) =>
      deletePrefixOp(breakerKeysOf(this.keys, kind, name, version)),
    );
    const removed = await callEtcd(`removing the breakers of agent ${name}`, () =>
      etcd.kv.txn({ compare: [], success: operations, failure: [] }),
    );
    this.states.forgetAgent(name, version);
    this.windows.forgetAgent(name, version);
    await this.seen(Number(removed.header.revision));
    this.changed();
  }

  /** Calls the listener after any breaker changed, here or elsewhere; it must not throw. Answers how to stop it. */
  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** Resolves when etcd has every transition made here. */
  settled(): Promise<void> {
    return this.states.settled();
  }

  /**
   * Waits until the mirror shows what was written: applied by hand, it might hide what somebody wrote right after.
   * A mirror that is cut off must not hold up an answer that is true.
   */
  private seen(revision: number): Promise<void> {
    return new Promise((resolve) => {
      const check = () => {
        if (this.records.currentRevision < revision) return;
        clearTimeout(patience);
        stop();
        resolve();
      };
      const patience = setTimeout(() => (stop(), resolve()), SEEN_PATIENCE_MS);
      const stop = this.onChange(check);
      check();
    });
  }

  /** The record that counts; none while breakers are switched off. */
  private active(key: BreakerKey): BreakerCell | undefined {
    return this.rules.settings.enabled ? this.states.get(key) : undefined;
  }

  private admission(cell: BreakerCell): Admission {
    const elapsed = { phaseMs: cell.elapsedMs, markedMs: cell.sinceMarkedMs };
    const admission = admissionOf(cell.current, elapsed, this.rules.settings);
    return cell.claiming ? { ...admission, share: 0 } : admission;
  }

  private refusal(key: BreakerKey) {
    const { detail, retryAfterMs } = this.gate(key);
    return circuitOpen(key, detail, retryAfterMs);
  }

  private applyRecords(changes: readonly MirrorChange[]): void {
    for (const { key: etcdKey, entry } of changes) {
      const place = parseBreakerKey(this.keys, etcdKey);
      if (place?.kind === 'override') this.overrides.apply(place.key, entry);
      else if (place?.kind === 'state') {
        this.states.apply(place.key, entry);
        if (entry === null) this.windows.forget(place.key);
      }
    }
    this.changed();
  }

  private applyWindows(changes: readonly MirrorChange[]): void {
    for (const change of changes) {
      const key = this.windows.apply(change);
      if (key !== null && this.rules.settings.enabled) this.judge.lastCalls(key);
    }
  }

  /** Judges what depends on time. Never waits, so that an etcd that does not answer holds up nothing. */
  private tick(): Promise<void> {
    this.states.step();
    this.judge.rates();
    return Promise.resolve();
  }

  private async publish(): Promise<void> {
    await this.windows.publish().catch((error: unknown) => {
      this.logger.debug({ error }, 'what breakers count could not be published; trying again');
    });
  }

  private changed(): void {
    for (const listener of this.listeners) listener();
  }
}

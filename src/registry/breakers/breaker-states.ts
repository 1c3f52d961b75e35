import type { Etcd3 } from 'etcd3';
import { afterTime, NEVER_TRIPPED, type BreakerRecord, type BreakerRules } from '../../policy/breaker';
import type { BreakerKey, BreakerState } from '../../protocol/reliability';
import type { Clock } from '../clock';
import type { Keyspace } from '../keys';
import type { Logger } from '../logger';
import type { MirrorEntry } from '../mirror/prefix-watch';
import { AbilityMap } from './ability-map';
import { BreakerCell } from './breaker-cell';
import { breakerKey } from './breaker-codec';

export interface BreakerStatesOptions {
  etcd: Etcd3;
  keys: Keyspace;
  clock: Clock;
  logger: Logger;
  rules: BreakerRules;
  onTransition?(key: BreakerKey, from: BreakerState, to: BreakerState, reason: string): void;
  onChange(): void;
}

/** Longest wait for etcd to take the last changes when stopping, ms. */
const LAST_WRITES_MS = 1_000;

/** The breakers that ever tripped; every other one is {@link NEVER_TRIPPED} and takes no room. */
export class BreakerStates {
  private readonly cells = new AbilityMap<BreakerCell>();
  private readonly life = new AbortController();

  constructor(private readonly options: BreakerStatesOptions) {}

  get(key: BreakerKey): BreakerCell | undefined {
    return this.cells.get(key);
  }

  record(key: BreakerKey): BreakerRecord {
    return this.cells.get(key)?.current ?? NEVER_TRIPPED;
  }

  /** The cell of a breaker that is about to trip for the first time. */
  ensure(key: BreakerKey): BreakerCell {
    return this.cells.get(key) ?? this.open(key, null);
  }

  entries(): Generator<[BreakerKey, BreakerCell]> {
    return this.cells.entries();
  }

  /** Takes over what the mirror tells; null: the record was deleted. */
  apply(key: BreakerKey, entry: MirrorEntry | null): void {
    const known = this.cells.get(key);
    if (entry !== null && known === undefined) this.open(key, entry);
    else known?.seen(entry);
    if (entry === null && known?.isBlank === true) this.cells.delete(key);
  }

  forgetAgent(agentName: string, version?: string): void {
    this.cells.deleteAgent(agentName, version);
  }

  /** Lets recovery proceed by time. */
  step(): void {
    for (const [, cell] of this.cells.entries()) {
      const { elapsedMs } = cell;
      const { phase } = cell.current;
      cell.post((record) => (record.phase === phase ? afterTime(record, elapsedMs, this.options.rules) : record));
    }
  }

  /** Resolves when etcd has every change made here. */
  async settled(): Promise<void> {
    await Promise.all([...this.cells.entries()].map(([, cell]) => cell.settled()));
  }

  /** Gives etcd a moment to take the last changes; what it does not take is lost. For good. */
  async stop(): Promise<void> {
    const patience = setTimeout(() => this.life.abort(), LAST_WRITES_MS);
    await this.settled();
    clearTimeout(patience);
    this.life.abort();
  }

  private open(key: BreakerKey, entry: MirrorEntry | null): BreakerCell {
    const { etcd, clock, rules, keys, onChange } = this.options;
    const etcdKey = breakerKey(keys, 'state', key);
    const onTransition = (from: BreakerRecord, to: BreakerRecord) => this.announce(key, from, to);
    const cell = new BreakerCell(
      { etcd, etcdKey, clock, rules, life: this.life.signal, onTransition, onChange },
      entry,
    );
    this.cells.set(key, cell);
    return cell;
  }

  private announce(key: BreakerKey, { state: from }: BreakerRecord, { state: to, reason }: BreakerRecord): void {
    const { logger, onTransition } = this.options;
    const details = { agent: key.agentName, version: key.agentVersion, ability: key.ability, from, to, reason };
    if (to === 'open' || to === 'bypass') logger.warn(details, 'a circuit breaker lets less through');
    else logger.info(details, 'a circuit breaker changed');
    onTransition?.(key, from, to, reason);
  }
}

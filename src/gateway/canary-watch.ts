import type { ICompare } from 'etcd3';
import {
  LATENCY_SETTLE_MS,
  look,
  newTrial,
  observe,
  type Counts,
  type Trial,
  type TrialSettings,
  type Verdict,
} from '../policy/canary';
import type { World } from '../protocol/world';
import type { Counted, Logger, RouteTableStore, TrialStore } from '../registry';
import { Ticker } from '../registry/ticker';
import { canaries, shareUnnamed, type CanaryVersion } from '../routing/versions';
import type { AlertSink } from './alerts';
import { rolledBack, rollbackAlert } from './rollback';

export interface CanaryWatchOptions {
  world: () => World;
  counted: (agentName: string, agentVersion: string, ability: string) => Counted;
  trials: Pick<TrialStore, 'load' | 'save'>;
  table: Pick<RouteTableStore, 'change'>;
  alerts: AlertSink;
  /** One process compares; the fence is in its writes. */
  leader: { check(): Promise<boolean>; readonly term: string | null; readonly fence: ICompare | null; depose(): void };
  settings: TrialSettings;
  /** Between two looks at all canaries. */
  intervalMs: number;
  /** How often the leader's key is looked after, whatever the interval; default 1 s. */
  leadEveryMs?: number;
  monotonicMs: () => number;
  logger: Logger;
}

type Totals = Counted['totals'];

/** What was known of one canary at the last tick. */
interface Seen {
  canary: Totals;
  stable: Totals;
  /** What routes said of the two, and since when they have; monotonic ms. */
  split: string;
  sinceMs: number;
}

/** Processes that have told nothing lately whose counts are kept, in case they were only cut off for a while. */
const MAX_ABSENT = 1_000;

/**
 * Compares each canary with the version that bears the most, and takes one that is significantly worse out of the traffic
 * (R21): its weight becomes 0, with an alert that says the figures. Trials outlive this process; what was counted while
 * nobody led is left out.
 */
export class CanaryWatch {
  private running: Map<string, Trial> | null = null;
  /** By trial. */
  private readonly seen = new Map<string, Seen>();
  /** The leadership that both are of. */
  private term: string | null = null;
  /** The key has a ticker of its own, or with a long interval its lease would lapse between two ticks. */
  private readonly tickers: readonly Ticker[];

  constructor(private readonly options: CanaryWatchOptions) {
    const { intervalMs, leadEveryMs = 1_000, leader } = options;
    const lead = async () => void (await leader.check());
    this.tickers = [new Ticker(leadEveryMs, lead), new Ticker(intervalMs, () => this.tick())];
  }

  start(): void {
    for (const ticker of this.tickers) ticker.start();
  }

  /** Waits for the look under way. */
  async stop(): Promise<void> {
    await Promise.all(this.tickers.map((ticker) => ticker.stop()));
  }

  /** One look at every canary. Never throws: what could not be written is tried again at the next. */
  async tick(): Promise<void> {
    const { leader, logger } = this.options;
    try {
      if (!(await leader.check())) return this.forget();
      // Somebody else may have led since the last tick, and gone on with the trials.
      if (leader.term !== this.term) this.forget();
      this.term = leader.term;
      this.running ??= await this.options.trials.load();
      const all = canaries(this.options.world());
      for (const canary of all) await this.compare(canary, this.running);
      await this.dropOthers(new Set(all.map(idOf)), this.running);
    } catch (error) {
      logger.warn({ error }, 'canaries could not be compared; trying again');
      this.forget();
    }
  }

  private forget(): void {
    this.running = null;
    this.seen.clear();
  }

  private async compare(canary: CanaryVersion, running: Map<string, Trial>): Promise<void> {
    const { counted, settings } = this.options;
    const id = idOf(canary);
    const own = counted(canary.agentName, canary.canary, canary.ability);
    const stable = counted(canary.agentName, canary.stable, canary.ability);
    const before = this.seen.get(id);
    const now = this.seenNow(canary, { canary: own.totals, stable: stable.totals }, before);
    this.seen.set(id, now);
    if (before === undefined) return;
    const did = { canary: since(before.canary, own.totals), stable: since(before.stable, stable.totals) };
    if (did.canary.requests === 0 && did.stable.requests === 0) return;
    const known = running.get(id) ?? newTrial(settings);
    const isSettled = this.options.monotonicMs() - now.sinceMs >= LATENCY_SETTLE_MS;
    const latencies = isSettled ? { canary: own.latencies, stable: stable.latencies } : null;
    const { trial, verdict } = look(observe(known, did.canary, did.stable), latencies, settings);
    if (verdict !== null) await this.rollBack(canary, verdict);
    await this.keep(id, verdict === null ? trial : null, running);
  }

  private seenNow(canary: CanaryVersion, totals: { canary: Totals; stable: Totals }, before?: Seen): Seen {
    const split = splitOf(canary, this.options.world().routes);
    const sinceMs = before?.split === split ? before.sinceMs : this.options.monotonicMs();
    return {
      canary: carriedOver(before?.canary, totals.canary),
      stable: carriedOver(before?.stable, totals.stable),
      split,
      sinceMs,
    };
  }

  /** Tells only of groups where it has changed anything: elsewhere somebody else was faster. */
  private async rollBack(canary: CanaryVersion, verdict: Verdict): Promise<void> {
    const { table, alerts, world } = this.options;
    let groups: string[] = [];
    await table.change(({ entries }) => {
      groups = canary.groups.filter((group) => rolledBack(entries, { ...canary, groups: [group] }) !== null);
      return rolledBack(entries, canary);
    });
    if (groups.length === 0) return;
    await alerts.raise(rollbackAlert({ ...canary, groups }, verdict, shareUnnamed(world(), canary)));
  }

  private async keep(id: string, trial: Trial | null, running: Map<string, Trial>): Promise<void> {
    const { trials, leader } = this.options;
    if (trial === null) running.delete(id);
    else running.set(id, trial);
    const { fence } = leader;
    if (fence !== null && (await trials.save(id, trial, fence))) return;
    leader.depose();
    this.forget();
  }

  /** Canaries that are none any more; one that comes back begins anew. */
  private async dropOthers(ids: ReadonlySet<string>, running: Map<string, Trial>): Promise<void> {
    for (const id of [...running.keys()]) if (!ids.has(id)) await this.keep(id, null, running);
    for (const id of [...this.seen.keys()]) if (!ids.has(id)) this.seen.delete(id);
  }
}

function idOf({ agentName, ability, canary, stable }: CanaryVersion): string {
  return JSON.stringify([agentName, ability, canary, stable]);
}

/** What routes say of a canary's agent where it is one: as long as it is the same, both versions share calls in one proportion. */
function splitOf({ agentName, ability, groups }: CanaryVersion, routes: World['routes']): string {
  return JSON.stringify(groups.map((group) => [group, routes?.listed(ability, group, agentName)]));
}

/** What is known of all processes: those that lost their lease for a while go on from where they were. */
function carriedOver(before: Totals | undefined, now: Totals): Totals {
  const absent = [...(before ?? [])].filter(([processId]) => !now.has(processId));
  return new Map([...absent.slice(-MAX_ABSENT), ...now]);
}

/**
 * What was counted since. One that is new says nothing yet: all it has counted may be the work of hours, from before it was
 * seen. One that began anew counts with all it has.
 */
function since(before: Totals, now: Totals): Counts {
  let [requests, failures] = [0, 0];
  for (const [processId, own] of now) {
    const was = before.get(processId);
    if (was === undefined) continue;
    const fresh = own.requests < was.requests || own.failures < was.failures;
    requests += own.requests - (fresh ? 0 : was.requests);
    failures += own.failures - (fresh ? 0 : was.failures);
  }
  return { requests, failures };
}

import type { ICompare } from 'etcd3';
import { look, newTrial, observe, type Counts, type Trial, type TrialSettings } from '../policy/canary';
import type { World } from '../protocol/world';
import type { Counted, Logger, RouteTableStore, TrialStore } from '../registry';
import { canaries, type CanaryVersion } from '../routing/versions';
import type { AlertSink } from './alerts';
import { rolledBack, rollbackAlert } from './rollback';

export interface CanaryWatchOptions {
  world: () => World;
  counted: (agentName: string, agentVersion: string, ability: string) => Counted;
  trials: Pick<TrialStore, 'load' | 'save'>;
  table: Pick<RouteTableStore, 'change'>;
  alerts: AlertSink;
  /** One process compares; the fence is in its writes. */
  leader: { check(): Promise<boolean>; readonly fence: ICompare | null; depose(): void };
  settings: TrialSettings;
  logger: Logger;
}

type Totals = Counted['totals'];

/**
 * Compares each canary with the version that bears the most, and takes one that is significantly worse out of the traffic
 * (R21): its weight becomes 0, with an alert that says the figures. Trials outlive this process; what was counted while
 * nobody led is left out.
 */
export class CanaryWatch {
  private running: Map<string, Trial> | null = null;
  /** What had been counted at the last tick, by trial. */
  private readonly seen = new Map<string, { canary: Totals; stable: Totals }>();

  constructor(private readonly options: CanaryWatchOptions) {}

  /** One look at every canary. Never throws: what could not be written is tried again at the next. */
  async tick(): Promise<void> {
    const { leader, logger } = this.options;
    try {
      if (!(await leader.check())) return this.forget();
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
    this.seen.set(id, { canary: own.totals, stable: stable.totals });
    if (before === undefined) return;
    const did = { canary: since(before.canary, own.totals), stable: since(before.stable, stable.totals) };
    if (did.canary.requests === 0 && did.stable.requests === 0) return;
    const known = running.get(id) ?? newTrial(settings);
    const latencies = { canary: own.latencies, stable: stable.latencies };
    const { trial, verdict } = look(observe(known, did.canary, did.stable), latencies, settings);
    if (verdict !== null) await this.rollBack(canary, verdict);
    await this.keep(id, verdict === null ? trial : null, running);
  }

  private async rollBack(canary: CanaryVersion, verdict: Parameters<typeof rollbackAlert>[1]): Promise<void> {
    const { table, alerts } = this.options;
    await table.change(({ entries }) => rolledBack(entries, canary));
    await alerts.raise(rollbackAlert(canary, verdict));
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

/** What was counted since; a process that is new, or began anew, counts with all it has. */
function since(before: Totals, now: Totals): Counts {
  let [requests, failures] = [0, 0];
  for (const [processId, own] of now) {
    const was = before.get(processId);
    const fresh = was === undefined || own.requests < was.requests || own.failures < was.failures;
    requests += own.requests - (fresh ? 0 : was.requests);
    failures += own.failures - (fresh ? 0 : was.failures);
  }
  return { requests, failures };
}

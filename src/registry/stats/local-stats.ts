import type { Clock } from '../clock';
import { DEFAULT_HALF_LIFE_MS } from './forgetting';
import { seriesKey, type MeasuredSeries, type SeriesId } from './agent-digest';
import { Series, type SampleOutcome } from './series';

/** Series that nothing was recorded for in this long are forgotten. */
const FORGET_AFTER_MS = 3_600_000;

/** Whose behaviour is measured. */
export interface SampleKey {
  agentName: string;
  agentVersion: string;
  ability: string;
  /** Null when no instance was chosen (agents that pull). */
  instanceId: string | null;
}

/** One finished call. */
export interface Sample extends SampleKey {
  durationMs: number;
  outcome: SampleOutcome;
}

interface OwnSeries {
  id: SeriesId;
  series: Series;
}

/** What this process has measured, by agent. */
export class LocalStats {
  private readonly agents = new Map<string, Map<string, OwnSeries>>();
  /** Agents whose measurements the others have not been told. */
  private readonly dirty = new Set<string>();

  constructor(
    private readonly clock: Clock,
    private readonly halfLifeMs = DEFAULT_HALF_LIFE_MS,
  ) {}

  record({ outcome, durationMs, ...key }: Sample): void {
    if (outcome === 'neutral') return;
    const at = { nowMs: this.clock.monotonicMs(), endedSec: this.clock.wall().getTime() / 1_000 };
    for (const series of this.touch(key)) series.record(outcome, durationMs, at);
  }

  /** Counts a call as in flight until the answer is called; calling it again changes nothing. */
  started(key: SampleKey): () => void {
    const all = this.touch(key);
    for (const series of all) series.started(this.clock.monotonicMs());
    let running = true;
    return () => {
      if (!running) return;
      running = false;
      for (const series of all) series.ended(this.clock.monotonicMs());
      this.dirty.add(key.agentName);
    };
  }

  get(agentName: string, key: string): Series | undefined {
    return this.agents.get(agentName)?.get(key)?.series;
  }

  /** Drops what is too old. Answers the keys of series that were forgotten. */
  expire(): string[] {
    const gone: string[] = [];
    for (const [name, own] of this.agents) {
      if (this.expireSeries(own, gone)) this.dirty.add(name);
      if (own.size === 0) this.agents.delete(name);
    }
    return gone;
  }

  /**
   * All measurements of the agents for which anything changed since the last time; none for an agent that is
   * forgotten.
   */
  takeChanged(): Map<string, MeasuredSeries[]> {
    const changed = new Map([...this.dirty].map((name) => [name, this.measured(name)]));
    this.dirty.clear();
    return changed;
  }

  /** These agents (default: all) are to be told again: what was written is lost, or could not be written. */
  markChanged(names: Iterable<string> = this.agents.keys()): void {
    for (const name of names) this.dirty.add(name);
  }

  private measured(name: string): MeasuredSeries[] {
    const weighing = { nowMs: this.clock.monotonicMs(), halfLifeMs: this.halfLifeMs };
    const own = [...(this.agents.get(name)?.values() ?? [])];
    return own.map(({ id, series }) => ({ id, digest: series.digest(weighing) }));
  }

  private expireSeries(own: Map<string, OwnSeries>, gone: string[]): boolean {
    const nowMs = this.clock.monotonicMs();
    let changed = false;
    for (const [key, { series }] of own) {
      changed = series.expire(nowMs) || changed;
      if (series.inFlight > 0 || nowMs - series.lastTouchedMs <= FORGET_AFTER_MS) continue;
      own.delete(key);
      gone.push(key);
      changed = true;
    }
    return changed;
  }

  private touch({ agentName, agentVersion, ability, instanceId }: SampleKey): Series[] {
    this.dirty.add(agentName);
    const ids: SeriesId[] = [{ version: agentVersion, ability }];
    if (instanceId !== null) ids.push({ instanceId });
    const own = this.agents.get(agentName) ?? new Map<string, OwnSeries>();
    this.agents.set(agentName, own);
    return ids.map((id) => {
      const key = seriesKey(agentName, id);
      const known = own.get(key) ?? { id, series: new Series(this.clock.monotonicMs()) };
      own.set(key, known);
      return known.series;
    });
  }
}

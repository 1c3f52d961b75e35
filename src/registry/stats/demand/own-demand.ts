import type { Clock } from '../../clock';
import type { DemandId, EarlierDigest, NowDigest } from './demand-codec';
import { DemandWindows } from './demand-windows';

/** Whom a reach or a call goes to. */
export interface DemandKey {
  agentName: string;
  agentVersion: string;
  ability: string;
}

interface OwnSeries {
  id: DemandId;
  windows: DemandWindows;
  /** Calls are measured from their start; else from what is told of them at their end. */
  measuresStarts: boolean;
}

interface OwnAgent {
  series: Map<string, OwnSeries>;
  /** What was told last, to see whether there is news. */
  told: { now: string; earlier: string };
}

/** What this process saw asked of agents. */
export class OwnDemand {
  private readonly agents = new Map<string, OwnAgent>();
  private readonly sinceSec: number;

  /** @param queueOf callers that wait in this process for an agent */
  constructor(
    private readonly clock: Clock,
    private readonly queueOf: (agentName: string) => number,
  ) {
    this.sinceSec = this.nowSec();
  }

  arrived(key: DemandKey): void {
    this.series(key).windows.arrived(this.nowSec());
  }

  /** Counts a call, and how long it takes until the returned function is called (again: nothing). */
  started(key: DemandKey): () => void {
    const series = this.series(key);
    series.measuresStarts = true;
    series.windows.called(this.nowSec());
    const startedMs = this.clock.monotonicMs();
    let running = true;
    return () => {
      if (running) series.windows.served(this.clock.monotonicMs() - startedMs, this.nowSec());
      running = false;
    };
  }

  /** Counts a call that nobody saw start: of an agent that pulls. */
  finished(key: DemandKey, durationMs: number): void {
    const series = this.series(key);
    if (series.measuresStarts || !Number.isFinite(durationMs)) return;
    series.windows.called(this.nowSec());
    series.windows.served(durationMs, this.nowSec());
  }

  now(agentName: string): NowDigest | null {
    const series = [...(this.agents.get(agentName)?.series.values() ?? [])];
    const queue = this.queueOf(agentName);
    if (series.length === 0 && queue === 0) return null;
    return {
      sinceSec: this.sinceSec,
      queue,
      series: series.map(({ id, windows }) => ({ ...id, ...windows.recentDigest() })),
    };
  }

  earlier(agentName: string): EarlierDigest | null {
    const series = [...(this.agents.get(agentName)?.series.values() ?? [])];
    const told = series.map(({ id, windows }) => ({ ...id, blocks: windows.earlierDigest() }));
    const some = told.filter(({ blocks }) => blocks.length > 0);
    return some.length === 0 ? null : { series: some };
  }

  /** Ages everything, and forgets agents that nobody asked for in an hour. Answers the names that were forgotten. */
  advance(): string[] {
    const gone: string[] = [];
    for (const [name, { series }] of this.agents) {
      for (const [key, { windows }] of series) {
        windows.advance(this.nowSec());
        if (windows.isEmpty) series.delete(key);
      }
      if (series.size > 0 || this.queueOf(name) > 0) continue;
      this.agents.delete(name);
      gone.push(name);
    }
    return gone;
  }

  /** Agents of which others should be told something new. */
  changed(): { name: string; now: boolean; earlier: boolean }[] {
    return [...this.agents].flatMap(([name, { series, told }]) => {
      const versions = [...series].map(([key, { windows }]) => `${key}:${windows.version}`).join();
      const now = `${this.queueOf(name)};${versions}`;
      const earlier = [...series].map(([key, { windows }]) => `${key}:${windows.earlierVersion}`).join();
      const news = { name, now: now !== told.now, earlier: earlier !== told.earlier };
      Object.assign(told, { now, earlier });
      return news.now || news.earlier ? [news] : [];
    });
  }

  /** Whether anything was asked of the agent that still counts. */
  knows(agentName: string): boolean {
    return this.agents.has(agentName);
  }

  /** Everything is to be told again, of these agents or of all. */
  forgetTold(names: Iterable<string> = this.agents.keys()): void {
    for (const name of names) {
      const agent = this.agents.get(name);
      if (agent) agent.told = { now: '', earlier: '' };
    }
  }

  get startedSec(): number {
    return this.sinceSec;
  }

  private series({ agentName, agentVersion, ability }: DemandKey): OwnSeries {
    const agent = this.agents.get(agentName) ?? { series: new Map<string, OwnSeries>(), told: untold() };
    this.agents.set(agentName, agent);
    const key = `${agentVersion.length}:${agentVersion}${ability}`;
    const known = agent.series.get(key) ?? {
      id: { version: agentVersion, ability },
      windows: new DemandWindows(),
      measuresStarts: false,
    };
    agent.series.set(key, known);
    return known;
  }

  private nowSec(): number {
    return this.clock.wall().getTime() / 1_000;
  }
}

const untold = (): OwnAgent['told'] => ({ now: '', earlier: '' });

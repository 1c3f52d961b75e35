import type { Clock } from '../../clock';
import { deleteOp, putOp } from '../../etcd/etcd-ops';
import { DigestExchange, type DigestExchangeOptions, type Publication } from '../digest-exchange';
import { encodeDemand } from './demand-codec';
import { mergeDemand, type MeasuredDemand } from './merge-demand';
import { OwnDemand, type DemandKey } from './own-demand';
import { RemoteDemand, type DemandKind } from './remote-demand';

/** How long a merged view serves, ms: acceptances come by the thousand, and a second more changes no rate. */
const FRESH_MS = 500;

export interface DemandHubOptions extends DigestExchangeOptions {
  /** Callers that wait in this process for an agent. Default: none. */
  queueOf?: (agentName: string) => number;
}

/** What is asked of one agent, over all processes. */
export interface AgentDemand {
  /** Callers that wait for it, in all live processes. */
  queueDepth: number;
  series: MeasuredDemand[];
}

/** Reads what is asked of agents, without waiting. */
export interface DemandLookup {
  agent(agentName: string): AgentDemand;
}

/**
 * What is asked of agents, shared by all processes (R35): arrivals, calls and service times of the last five minutes and of the hour
 * before, and who waits. Each process publishes a digest per agent once a second when it changed, and that of the hour before when
 * a slot of ten seconds has moved there, under a lease of its own; counts are by slots of wall-clock time, so adding them up
 * needs no agreement. Nothing waits for etcd.
 */
export class DemandHub implements DemandLookup {
  private readonly clock: Clock;
  private readonly own: OwnDemand;
  private readonly remote: RemoteDemand;
  private readonly exchange: DigestExchange;
  private readonly queueOf: (agentName: string) => number;
  /** Agents of which nothing is left to tell, and whose digests are still to be withdrawn. */
  private readonly gone = new Set<string>();
  private readonly merged = new Map<string, { untilMs: number; series: MeasuredDemand[] }>();

  constructor({ queueOf = () => 0, ...options }: DemandHubOptions) {
    this.exchange = new DigestExchange(options, {
      what: 'demand',
      prefixOf: (keys) => keys.demand,
      advance: () => this.advance(),
      forgetTold: () => this.own.forgetTold(),
      publication: (leaseId) => this.publication(leaseId),
      apply: (changes) => this.remote.apply(changes),
    });
    const { keys, clock, processId } = this.exchange;
    [this.clock, this.queueOf] = [clock, queueOf];
    this.own = new OwnDemand(clock, queueOf);
    this.remote = new RemoteDemand({ keys, logger: options.logger, ownProcessId: processId });
  }

  /** Begins to publish and to follow the others. @throws ReachError `engine_unavailable`; may be called again. */
  start(): Promise<void> {
    return this.exchange.start();
  }

  /** Withdraws this process's digests; the others keep what it told of the past. */
  stop(): Promise<void> {
    return this.exchange.stop();
  }

  /** Counts a reach that was sent to an ability, whatever becomes of it. */
  arrived(key: DemandKey): void {
    this.own.arrived(key);
  }

  /** Counts a call until the returned function is called (again: nothing). */
  started(key: DemandKey): () => void {
    return this.own.started(key);
  }

  /** Counts a call that nobody saw start: of an agent that pulls. Nothing for agents whose calls are seen. */
  finished(key: DemandKey, durationMs: number): void {
    this.own.finished(key, durationMs);
  }

  /** {@inheritDoc DemandLookup.agent} */
  agent(agentName: string): AgentDemand {
    const alive = this.remote.told(agentName).filter((one) => one.alive);
    const elsewhere = alive.reduce((sum, { now }) => sum + (now?.queue ?? 0), 0);
    return { queueDepth: this.queueOf(agentName) + elsewhere, series: this.series(agentName) };
  }

  private series(agentName: string): MeasuredDemand[] {
    const nowMs = this.clock.monotonicMs();
    const known = this.merged.get(agentName);
    if (known && known.untilMs > nowMs) return known.series;
    const told = this.remote.told(agentName);
    const own = { now: this.own.now(agentName), earlier: this.own.earlier(agentName) };
    const sinceSec = Math.min(this.own.startedSec, ...told.flatMap(({ now }) => now?.sinceSec ?? []));
    const series = mergeDemand([...told, own], { nowSec: this.clock.wall().getTime() / 1_000, sinceSec });
    this.merged.set(agentName, { untilMs: nowMs + FRESH_MS, series });
    return series;
  }

  private advance(): void {
    for (const name of this.own.advance()) {
      this.gone.add(name);
      this.merged.delete(name);
    }
  }

  private publication(leaseId: string): Publication {
    const { keys, processId } = this.exchange;
    const changed = this.own.changed();
    const keyOf = (kind: DemandKind, name: string) => keys.under(keys.demand, kind, processId, name);
    const put = (kind: DemandKind, name: string) => {
      const digest = this.own[kind](name);
      return digest ? putOp(keyOf(kind, name), encodeDemand(digest), leaseId) : deleteOp(keyOf(kind, name));
    };
    const withdrawn = [...this.gone];
    this.gone.clear();
    const writes = new Map(
      withdrawn.map((name) => [name, [deleteOp(keyOf('now', name)), deleteOp(keyOf('earlier', name))]]),
    );
    // One that came back meanwhile has news, which take the place of what was to be withdrawn.
    for (const { name, now, earlier } of changed)
      writes.set(name, [...(now ? [put('now', name)] : []), ...(earlier ? [put('earlier', name)] : [])]);
    return { writes, takeBack: (names) => this.takeBack(names) };
  }

  private takeBack(names: readonly string[]): void {
    this.own.forgetTold(names);
    for (const name of names) if (!this.own.knows(name)) this.gone.add(name);
  }
}

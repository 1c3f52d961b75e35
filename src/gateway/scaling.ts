import { cv2, meanMs, type ServiceProfile } from '../policy/queueing';
import {
  offeredPerSec,
  percentiles,
  scalingHint,
  wordingOf,
  type AgentFacts,
  type Hint,
  type ScalingSettings,
} from '../policy/scaling';
import type { BreakerKey, BreakerView } from '../protocol/reliability';
import type { ScalingHint } from '../protocol/scaling';
import type { InstanceState } from '../protocol/shapes';
import { compareVersionsDescending } from '../protocol/versions';
import type { AgentVersion, World } from '../protocol/world';
import type { AgentDemand, DemandLookup } from '../registry';
import { queueShare } from './queue-share';

export interface ScalingOptions {
  view: { world(): World; agent(name: string): AgentVersion[] };
  demand: DemandLookup;
  breakers: { view(key: BreakerKey): BreakerView };
  /** Calls at once that an agent may have on the whole platform (R29). */
  limitOf: (agent: AgentVersion) => number;
  /** Calls that wait in the task queue of an agent that pulls. */
  pullDepth: (agentName: string, agentVersion: string) => number;
  settings: ScalingSettings;
}

/** Scaling hints (R35): reads what the registry and the statistics of this process know, without waiting. */
export class Scaling {
  constructor(private readonly options: ScalingOptions) {}

  /** One for each version with instances or traffic, by name, newest version first; of an agent without either, for its newest. */
  hints(agentName?: string): ScalingHint[] {
    const { view } = this.options;
    const names = agentName === undefined ? new Set(view.world().agents.map(({ name }) => name)) : [agentName];
    return [...names].sort().flatMap((name) => this.hintsOf(name));
  }

  /** The hints of so many agents, those with the most traffic; each is made when it is taken, so that a scrape can pause. */
  *busiest(limit: number): Generator<ScalingHint, void, undefined> {
    const names = [...new Set(this.options.view.world().agents.map(({ name }) => name))];
    const few = names.length <= limit ? names.sort() : this.withMostTraffic(names).slice(0, limit);
    for (const name of few) yield* this.hintsOf(name);
  }

  private withMostTraffic(names: readonly string[]): string[] {
    const rated = names.map((name) => ({ name, perSec: this.arrivalsPerSec(name) }));
    return rated.sort((a, b) => b.perSec - a.perSec).map(({ name }) => name);
  }

  /** Callers that wait for an agent, wherever they wait. */
  queueDepth(name: string): number {
    const versions = this.options.view.agent(name);
    const pulled = versions.reduce((sum, { version }) => sum + this.options.pullDepth(name, version), 0);
    return this.options.demand.agent(name).queueDepth + pulled;
  }

  /** Reaches per second that are sent to an agent. */
  arrivalsPerSec(name: string): number {
    const { series } = this.options.demand.agent(name);
    return series.reduce((sum, { arrivalsPerSec }) => sum + arrivalsPerSec, 0);
  }

  private hintsOf(name: string): ScalingHint[] {
    const demand = this.options.demand.agent(name);
    const versions = this.options.view.agent(name).toSorted((a, b) => compareVersionsDescending(a.version, b.version));
    const isAsked = ({ version }: AgentVersion) =>
      demand.series.some((one) => one.version === version && offeredPerSec(one) > 0);
    const telling = versions.filter((agent) => agent.instances.length > 0 || isAsked(agent));
    return (telling.length > 0 ? telling : versions.slice(0, 1)).map((agent) => this.hint(agent, demand));
  }

  private hint(agent: AgentVersion, demand: AgentDemand): ScalingHint {
    const facts = this.facts(agent, demand);
    const hint = scalingHint(facts, this.options.settings);
    const { reason, advice } = wordingOf(agent.name, facts, hint);
    return {
      agent_name: agent.name,
      agent_version: agent.version,
      current: current(facts, hint),
      earlier: hint.earlier && {
        seconds: Math.round(hint.earlier.seconds),
        arrival_per_sec: rounded(hint.earlier.arrivals / hint.earlier.seconds),
        service_ms: serviceOf(hint.earlier.service),
      },
      recommended: { instances: hint.instances, reason, bulkhead_limit: hint.bulkheadNeeded },
      cause: hint.cause,
      confidence: hint.confidence,
      samples: {
        arrivals: hint.load.samples.arrivals,
        services: hint.load.samples.services,
        window_sec: Math.round(hint.load.samples.windowSec),
      },
      advice,
      abilities: facts.abilities.map(({ ability, arrivalsPerSec, service }) => ({
        ability,
        arrival_per_sec: rounded(arrivalsPerSec),
        service_ms: serviceOf(service),
      })),
    };
  }

  private facts(agent: AgentVersion, demand: AgentDemand): AgentFacts {
    const { limitOf, pullDepth } = this.options;
    const { name, version, instances, descriptor } = agent;
    const serving = instances.filter(isServing);
    const abilities = demand.series.filter((one) => one.version === version);
    return {
      instances: serving.length,
      lostInstances: instances.filter(({ status }) => status === 'unavailable').length,
      maxConcurrency: summed(serving),
      bulkheadLimit: limitOf(agent),
      inFlight: serving.reduce((sum, { in_flight }) => sum + in_flight, 0),
      queueDepth: queueShare(demand, version) + pullDepth(name, version),
      breakers: this.brokenAbilities(agent),
      abilities,
      pulls: descriptor.endpoint?.protocol === 'worker',
    };
  }

  private brokenAbilities({ name, version, descriptor }: AgentVersion): AgentFacts['breakers'] {
    return descriptor.capabilities.flatMap(({ name: ability }) => {
      const { state, share } = this.options.breakers.view({ agentName: name, agentVersion: version, ability });
      if (state === 'closed') return [];
      const told = state === 'bypass' ? 'in bypass' : state.replace('_', ' ');
      return [{ ability, detail: `${told} (${Math.round(share * 100)} % passes)` }];
    });
  }
}

/** Full ones serve too; draining ones will be gone. */
const isServing = ({ status }: InstanceState): boolean => status === 'ready' || status === 'busy';

function summed(instances: readonly InstanceState[]): number | null {
  const limits = instances.map(({ max_concurrency }) => max_concurrency);
  if (limits.length === 0) return null;
  return limits.reduce<number | null>((sum, limit) => (sum === null || limit === null ? null : sum + limit), 0);
}

function current(facts: AgentFacts, { load, utilisation, waitP95Ms }: Hint): ScalingHint['current'] {
  return {
    instances: facts.instances,
    max_concurrency: facts.maxConcurrency,
    bulkhead_limit: facts.bulkheadLimit,
    arrival_per_sec: rounded(load.arrivalsPerSec),
    arrival_per_sec_1m: rounded(facts.abilities.reduce((sum, one) => sum + one.arrivalsPerSec1m, 0)),
    calls_per_sec: rounded(facts.abilities.reduce((sum, one) => sum + one.callsPerSec, 0)),
    service_ms: { ...serviceOf(load.service), cv2: maybeRounded(cv2(load.service)) },
    utilisation: maybeRounded(utilisation),
    in_flight: facts.inFlight,
    queue_depth: facts.queueDepth,
    wait_ms_p95_estimate: maybeRounded(waitP95Ms),
  };
}

function serviceOf(service: ServiceProfile) {
  const { p50, p95, p99 } = percentiles(service);
  return {
    mean: maybeRounded(meanMs(service)),
    p50: maybeRounded(p50),
    p95: maybeRounded(p95),
    p99: maybeRounded(p99),
  };
}

const rounded = (value: number): number => Math.round(value * 1_000) / 1_000;
const maybeRounded = (value: number | null): number | null => (value === null ? null : rounded(value));

import type { Capability, Descriptor } from '../protocol/descriptor';
import { cataloguePage, type CataloguePageQuery } from '../protocol/catalogue-page';
import { closestNames } from '../protocol/nearest';
import { unknownName } from '../routing/scope';
import { ReachError } from '../protocol/reach-error';
import type { BreakerKey, BreakerView } from '../protocol/reliability';
import type { InstanceState } from '../protocol/shapes';
import { compareVersionsDescending } from '../protocol/versions';
import type { AbilityStats, AgentVersion, World } from '../protocol/world';

/** Everything known about one agent (api: Agent). */
export interface AgentBody {
  name: string;
  versions: { version: string; descriptor: Descriptor; registered_at: string }[];
  instances: InstanceState[];
  abilities: {
    name: string;
    agent_version: string;
    description: string;
    breaker: BreakerView;
    stats: AbilityStats | null;
  }[];
  stats: {
    p50_ms: number | null;
    p95_ms: number | null;
    p99_ms: number | null;
    failure_rate: number | null;
    in_flight: number;
    queue_depth: number;
    requests: number;
  };
  status: InstanceState['status'];
}

/** Somebody who offers an ability. Schemas are told of one ability alone: a list of all would be large. */
export interface AbilityOffer {
  agent_name: string;
  agent_version: string;
  status: InstanceState['status'];
  description: string;
  input_schema?: Capability['input_schema'];
  output_schema?: Capability['output_schema'];
}

/** One ability of the catalogue and who offers it. */
export interface AbilityBody {
  name: string;
  description: string;
  agents: AbilityOffer[];
}

/** What the catalogue reads: the snapshot for lists, and one agent with its leases and counts as of now. */
export interface CatalogueView {
  world(): World;
  agent(name: string): AgentVersion[];
}

/** Reads agents and abilities out of the registry's view. */
export class AgentCatalogue {
  constructor(
    private readonly view: CatalogueView,
    private readonly breakers: { view(key: BreakerKey): BreakerView },
    /** Who waits for agents, over all processes: as scaling hints have it. */
    private readonly demand: { queueDepth(name: string): number },
  ) {}

  agents(): AgentBody[] {
    const names = new Set(this.world().agents.map(({ name }) => name));
    return [...names].map((name) => this.body(name, this.view.agent(name)));
  }

  /** One page of {@link agents}: only those on it are put together. */
  agentsPage(page: CataloguePageQuery): { items: AgentBody[]; next_cursor?: string } {
    const names = new Set(this.world().agents.map(({ name }) => name));
    const found = cataloguePage(
      [...names].map((name) => ({ name })),
      page,
    );
    return { ...found, items: found.items.map(({ name }) => this.body(name, this.view.agent(name))) };
  }

  /** @throws ReachError `agent_not_found` with the nearest names */
  agent(name: string): AgentBody {
    const versions = this.view.agent(name);
    if (versions.length === 0) throw this.unknownAgent(name);
    return this.body(name, versions);
  }

  unknownAgent(name: string): ReachError {
    const closest = closestNames(name, new Set(this.world().agents.map((agent) => agent.name)), 3);
    const message = `There is no agent named ${JSON.stringify(name.slice(0, 200))}${hint(closest, 'agents')}`;
    return new ReachError('agent_not_found', message, { diagnosis: unknownName('agent_unknown', message, closest) });
  }

  abilities(): AbilityBody[] {
    const byName = new Map<string, AbilityBody>();
    for (const agent of this.world().agents) {
      for (const { name, description } of agent.descriptor.capabilities) {
        const ability = byName.get(name) ?? { name, description, agents: [] };
        ability.agents.push({
          agent_name: agent.name,
          agent_version: agent.version,
          status: overallStatus(agent.instances),
          description,
        });
        byName.set(name, ability);
      }
    }
    return [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** @throws ReachError `ability_not_found` with the nearest names */
  ability(name: string): AbilityBody {
    const all = this.abilities();
    const found = all.find((ability) => ability.name === name);
    if (found) return { ...found, agents: found.agents.map((offer) => this.withSchemas(name, offer)) };
    const closest = closestNames(
      name,
      all.map((ability) => ability.name),
      3,
    );
    const message = `Nobody offers ${JSON.stringify(name.slice(0, 200))}${hint(closest, 'abilities')}`;
    throw new ReachError('ability_not_found', message, { diagnosis: unknownName('name_mismatch', message, closest) });
  }

  private withSchemas(ability: string, offer: AbilityOffer): AbilityOffer {
    const { agents } = this.world();
    const agent = agents.find(({ name, version }) => name === offer.agent_name && version === offer.agent_version);
    const capability = agent?.descriptor.capabilities.find(({ name }) => name === ability);
    const { input_schema, output_schema } = capability ?? {};
    return {
      ...offer,
      ...(input_schema !== undefined && { input_schema }),
      ...(output_schema !== undefined && { output_schema }),
    };
  }

  private world(): World {
    return this.view.world();
  }

  private body(name: string, versions: AgentVersion[]): AgentBody {
    const sorted = versions.toSorted((a, b) => compareVersionsDescending(a.version, b.version));
    const { stats } = this.world();
    const abilities = sorted.flatMap((agent) =>
      agent.descriptor.capabilities.map((capability) => ({
        name: capability.name,
        agent_version: agent.version,
        description: capability.description,
        breaker: this.breakers.view({ agentName: name, agentVersion: agent.version, ability: capability.name }),
        stats: stats.ability(name, agent.version, capability.name),
      })),
    );
    // Those that left lately stay visible: who, what status, since when.
    const instances = sorted.flatMap((agent) => [...agent.instances, ...(agent.gone ?? [])]);
    return {
      name,
      versions: sorted.map(({ version, descriptor, registered_at }) => ({ version, descriptor, registered_at })),
      instances,
      abilities,
      stats: summarise(
        abilities.flatMap((ability) => ability.stats ?? []),
        this.demand.queueDepth(name),
      ),
      status: overallStatus(instances),
    };
  }
}

/** An agent is as ready as its readiest instance. */
function overallStatus(instances: readonly InstanceState[]): InstanceState['status'] {
  const order = ['ready', 'busy', 'draining', 'unavailable', 'expired'] as const;
  return order.find((status) => instances.some((instance) => instance.status === status)) ?? 'unavailable';
}

/** Totals over an agent's abilities; percentiles of the busiest ability stand for the agent, since they do not add up. */
function summarise(stats: AbilityStats[], queueDepth: number): AgentBody['stats'] {
  const requests = stats.reduce((sum, one) => sum + one.requests, 0);
  const failures = stats.reduce((sum, one) => sum + one.failures, 0);
  const busiest = stats.reduce<AbilityStats | null>(
    (best, one) => (!best || one.requests > best.requests ? one : best),
    null,
  );
  return {
    p50_ms: busiest?.p50_ms ?? null,
    p95_ms: busiest?.p95_ms ?? null,
    p99_ms: busiest?.p99_ms ?? null,
    failure_rate: requests === 0 ? null : failures / requests,
    in_flight: stats.reduce((sum, one) => sum + one.in_flight, 0),
    queue_depth: queueDepth,
    requests,
  };
}

function hint(closest: { name: string; why: string }[], list: 'agents' | 'abilities'): string {
  const [nearest] = closest;
  return nearest
    ? `; did you mean ${JSON.stringify(nearest.name)} (${nearest.why})?`
    : `; GET /v1/${list} lists what there is`;
}

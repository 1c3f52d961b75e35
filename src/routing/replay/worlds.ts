import { descriptorSchema } from '../../protocol/descriptor';
import type { OfferFacts } from '../../protocol/logged-decision';
import type { InstanceState } from '../../protocol/shapes';
import type { AgentVersion, World } from '../../protocol/world';
import { gather, IndexCache, type AbilityIndex } from '../ability-index';

/** Sets of agents that are kept: decisions about the same ability nearly always meet the same. */
const MAX_KEPT = 2_000;

/** The agents of a decision, as far as it knows them. */
export interface ReplayedAgents {
  agents: readonly AgentVersion[];
  index: AbilityIndex;
}

/** Makes the agents of logged decisions anew: their names, versions and whether they were ready; the same set once. */
export class ReplayedWorlds {
  private readonly known = new Map<string, ReplayedAgents>();

  /** @param type the request's message type, which everybody in the record accepts */
  of(offers: readonly OfferFacts[], { type, patient }: { type: string; patient: boolean }): ReplayedAgents {
    const signature = `${type}\n${patient}\n${offers.map((one) => signatureOf(one, patient)).join('\n')}`;
    let found = this.known.get(signature);
    if (!found) {
      if (this.known.size >= MAX_KEPT) this.known.clear();
      this.known.set(signature, (found = make(offers, { type, patient })));
    }
    return found;
  }
}

function signatureOf(facts: OfferFacts, patient: boolean): string {
  const ready = isReady(facts, patient);
  const { agent_name, agent_version, ability, text_id, registered_at, compatible_versions } = facts;
  return `${agent_name} ${agent_version} ${ability} ${text_id} ${registered_at} ${ready} ${compatible_versions?.join('|') ?? ''}`;
}

/** Readiness keeps out whom it counts against; where it did not count, it was noted. */
function isReady({ held_by, was_ready }: OfferFacts, patient: boolean): boolean {
  return patient ? was_ready === true : held_by !== 'readiness';
}

function make(offers: readonly OfferFacts[], { type, patient }: { type: string; patient: boolean }): ReplayedAgents {
  const versions = gather(offers, ({ agent_name, agent_version }) => `${agent_name}#${agent_version}`);
  const agents = [...versions.values()].map((own) =>
    agentOf(own, { type, ready: own.every((one) => isReady(one, patient)) }),
  );
  const world: Pick<World, 'agents' | 'revision'> = { agents, revision: 'replayed' };
  const index = new IndexCache().of(world as World);
  return { agents, index };
}

function agentOf(own: readonly OfferFacts[], { type, ready }: { type: string; ready: boolean }): AgentVersion {
  const { agent_name: name, agent_version: version, compatible_versions, registered_at } = own[0]!;
  const descriptor = descriptorSchema.parse({
    name,
    version,
    accepted_message_types: [type],
    ...(compatible_versions && { compatible_versions }),
    // The name of its texts stands for them; with an example beside it nothing else is added.
    capabilities: own.map(({ ability, text_id }) => ({ name: ability, description: text_id, examples: ['-'] })),
  });
  return { name, version, descriptor, registered_at, instances: ready ? [instanceOf(version, registered_at)] : [] };
}

function instanceOf(version: string, since: string): InstanceState {
  return {
    instance_id: 'replayed',
    host: null,
    version,
    status: 'ready',
    status_reason: '',
    since,
    load: 0,
    in_flight: 0,
    max_concurrency: null,
    health: 'passing',
    source: 'lease',
  };
}

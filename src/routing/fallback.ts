import type { Capability } from '../protocol/descriptor';
import { fallbackOf } from '../protocol/routed-target';
import type { Decision, Fallback } from '../protocol/shapes';
import { selectVersions } from '../protocol/versions';
import type { AgentVersion, World } from '../protocol/world';
import { compareText, gather } from './ability-index';
import { ANY_ABILITY, scopeOf, type Scope } from './scope';
import type { RouteRequest } from './types';

/** A declared fallback and who declares it. */
export interface DeclaredFallback {
  fallback: Fallback;
  chosen: Pick<Decision['chosen'], 'agent_name' | 'agent_version' | 'ability'>;
}

/**
 * What stands in when {@link Router.route} has refused a request with a degraded or transient code (R30): the fallback
 * that the first capability declares, among those of the ability and the agent that the request names and in versions
 * that it allows; agents by name, the highest version first. Whether anybody is ready does not matter.
 * Undefined when none is declared, when the ability is left open (`*`, or an agent of several abilities), and for an
 * agent named to stand in for itself.
 * @throws ReachError `invalid_request` for names that cannot be read, as `route` does
 */
export function fallbackFor(world: Pick<World, 'agents'>, request: RouteRequest): DeclaredFallback | undefined {
  if (request.ability === ANY_ABILITY) return undefined;
  const scope = scopeOf(request);
  for (const agent of inOrder(world.agents, scope, request.version)) {
    const capability = soughtCapability(agent, scope);
    const fallback = fallbackOf(capability);
    if (!capability || !fallback || ('agent' in fallback && fallback.agent === request.target_agent)) continue;
    const chosen = { agent_name: agent.name, agent_version: agent.version, ability: capability.name };
    return { fallback, chosen };
  }
  return undefined;
}

/** The agents that the names and the range of a request allow, sorted by name, best version first. */
function inOrder(agents: readonly AgentVersion[], { agent, version }: Scope, range: string | undefined) {
  const named = agents.filter(
    (one) => (agent === undefined || one.name === agent) && (version === undefined || one.version === version),
  );
  const byName = [...gather(named, ({ name }) => name)].sort(([a], [b]) => compareText(a, b));
  return byName.flatMap(([, versions]) => fittingVersions(versions, range));
}

function fittingVersions(versions: readonly AgentVersion[], range: string | undefined): AgentVersion[] {
  const candidates = versions.map((agent) => ({
    version: agent.version,
    compatible_versions: agent.descriptor.compatible_versions,
    agent,
  }));
  return selectVersions(candidates, range).map(({ agent }) => agent);
}

/** The ability asked for; without one, the only one that the agent has. */
function soughtCapability({ descriptor }: AgentVersion, { ability }: Scope): Capability | undefined {
  const { capabilities } = descriptor;
  if (ability !== undefined) return capabilities.find(({ name }) => name === ability);
  return capabilities.length === 1 ? capabilities[0] : undefined;
}

import { splitKey, splitTarget, type ListedVersion, type RouteTable } from '../../protocol/route-table';
import { selectVersions } from '../../protocol/versions';
import type { AgentVersion, World } from '../../protocol/world';
import { gather } from '../ability-index';
import { representative, versionShares, type VersionShare } from './choose-version';
import { byAge } from './splits';

/** How the versions of one agent share one ability's calls in one group, while all of them are well. */
interface Split {
  ability: string;
  group: string;
  /** Oldest first. */
  agents: readonly AgentVersion[];
  shares: readonly VersionShare[];
  /** The version that bears the most. */
  bearer: string;
}

/** Where a version is unlisted, with its share of the agent's calls there while all its versions are well. */
export interface UnlistedPlace {
  ability: string;
  group: string;
  share: number;
  /** The version that bears the most there. */
  beside: string;
  /** What routes list of the agent there. */
  listed: readonly ListedVersion[];
  /** All versions that offer the ability, oldest first; routes may list others, which were removed. */
  offering: readonly string[];
}

/** A new version of a known agent that no route lists for some of its abilities and groups (R21). */
export interface UnlistedVersion {
  agent: AgentVersion;
  /** The version that bears the most instead, at the first of the places. */
  beside: string;
  where: UnlistedPlace[];
}

/** A version that gets less of an ability's calls than another, in some groups, be it by a route or because it is new. */
export interface CanaryVersion {
  agentName: string;
  ability: string;
  canary: string;
  stable: string;
  groups: string[];
}

const DEFAULT_GROUP = 'default';

/**
 * Who gets a share because it is new, and not because a route says so: in the group `default`, and in every group for
 * which a route lists another version of the agent. Readiness does not matter. An agent's first version is nobody's newcomer.
 */
export function unlistedVersions(world: Pick<World, 'agents' | 'routes'>): UnlistedVersion[] {
  const found = new Map<AgentVersion, UnlistedVersion>();
  for (const { ability, group, agents, shares, bearer } of splits(world)) {
    for (const { version, share, reason } of shares) {
      if (reason !== 'unlisted') continue;
      const agent = agents.find((one) => one.version === version)!;
      const known = found.get(agent) ?? { agent, beside: bearer, where: [] };
      const listed = world.routes?.listed(ability, group, agent.name) ?? [];
      const offering = agents.map((one) => one.version);
      known.where.push({ ability, group, share, beside: bearer, listed, offering });
      found.set(agent, known);
    }
  }
  return [...found.values()];
}

/** Every canary there is, with the version it is to be compared with. */
export function canaries(world: Pick<World, 'agents' | 'routes'>): CanaryVersion[] {
  const found = new Map<string, CanaryVersion>();
  for (const { ability, group, agents, shares, bearer } of splits(world)) {
    for (const { version } of shares) {
      if (version === bearer) continue;
      const agentName = agents[0]!.name;
      const key = JSON.stringify([agentName, ability, version, bearer]);
      const known = found.get(key) ?? { agentName, ability, canary: version, stable: bearer, groups: [] };
      known.groups.push(group);
      found.set(key, known);
    }
  }
  return [...found.values()];
}

/**
 * What a version gets of the calls of groups that no route names, 0–1, while all its agent's versions are well: groups are
 * matched exactly, so what a route says of one group, be it 0, does not hold for the others.
 */
export function shareUnnamed(
  { agents }: Pick<World, 'agents'>,
  { agentName, ability, canary }: Pick<CanaryVersion, 'agentName' | 'ability' | 'canary'>,
): number {
  const family = agents.filter(({ name }) => name === agentName);
  if (family.length === 0) return 0;
  const { shares } = splitOf(family, { ability, group: DEFAULT_GROUP, routes: undefined });
  return shares.find(({ version }) => version === canary)?.share ?? 0;
}

/** The splits of all agents of several versions. */
function* splits({ agents, routes }: Pick<World, 'agents' | 'routes'>): Generator<Split> {
  const groups = groupsOf(routes);
  for (const family of gather(agents, ({ name }) => name).values()) {
    if (family.length < 2) continue;
    const { name } = family[0]!;
    const abilities = new Set(family.flatMap(({ descriptor }) => descriptor.capabilities.map((one) => one.name)));
    for (const ability of abilities)
      for (const group of new Set([DEFAULT_GROUP, ...(groups.get(splitKey(ability, '', name)) ?? [])]))
        yield splitOf(family, { ability, group, routes });
  }
}

function splitOf(
  family: readonly AgentVersion[],
  { ability, group, routes }: { ability: string; group: string; routes: RouteTable | undefined },
): Split {
  const { name } = family[0]!;
  const entries = routes?.listed(ability, group, name) ?? [];
  const stable = routes?.lastStable(ability, group, name);
  const offering = family.filter(({ descriptor }) => descriptor.capabilities.some((one) => one.name === ability));
  const named = entries.map(({ version }) => version);
  const agents = releases(offering, named).sort(byAge);
  const candidates = agents.map(({ version }) => ({ version, usable: true }));
  const question = { entries, candidates, ...(entries.length === 0 && stable !== undefined && { stable }) };
  const all = candidates.map(({ version }) => version);
  const bearer = representative(question) ?? '';
  return { ability, group, agents, shares: versionShares(question, all), bearer };
}

/** Pre-releases get nothing of themselves: they are taken only when named (R20), be it by a route. */
function releases(offering: readonly AgentVersion[], listed: readonly string[]): AgentVersion[] {
  const taken = new Set(selectVersions(offering.map(({ version }) => ({ version }))).map(({ version }) => version));
  return offering.filter(({ version }) => taken.has(version) || listed.includes(version));
}

/** The groups that routes speak of, by ability and agent. */
function groupsOf(routes: RouteTable | undefined): Map<string, Set<string>> {
  const groups = new Map<string, Set<string>>();
  for (const { ability, from, to } of routes?.entries ?? []) {
    const key = splitKey(ability, '', splitTarget(to).name);
    const known = groups.get(key) ?? new Set<string>();
    groups.set(key, known.add(from));
  }
  return groups;
}

/**
 * The route table (R21) as everybody reads it: which versions of an agent take a caller group's calls of an ability, and
 * in what proportion. Pure: what is kept in etcd is the registry's business, what a split means is routing's.
 */

/** One route, as on the wire: calls of `ability` by callers of the group `from` go to the version `to`. */
export interface RouteEntry {
  ability: string;
  /** Caller group; matched exactly. */
  from: string;
  /** `name#version`. */
  to: string;
  /** Relative, an integer ≥ 0; 0 means none. */
  weight: number;
}

/** A version that routes list, and with what weight. */
export interface ListedVersion {
  version: string;
  weight: number;
}

/** The table as routing asks it, without waiting; it never changes. */
export interface RouteTable {
  /** Identity of its content, as in the header `ETag`. */
  readonly etag: string;
  readonly entries: readonly RouteEntry[];
  /** The versions of an agent that routes list for an ability and a group, in the order written. */
  listed(ability: string, group: string, agentName: string): readonly ListedVersion[];
  /** The version that bore the most before its routes were taken out of the table; undefined when there never were any. */
  lastStable(ability: string, group: string, agentName: string): string | undefined;
}

/** What a split was before its routes were taken out: `to` bore the most. */
export type FormerRoute = Omit<RouteEntry, 'weight'>;

const NONE: readonly ListedVersion[] = Object.freeze([]);

/** Indexes a table. `former`: what outlives routes that were taken out. */
export function routeTable(
  entries: readonly RouteEntry[],
  { etag, former = [] }: { etag: string; former?: readonly FormerRoute[] },
): RouteTable {
  const splits = new Map<string, ListedVersion[]>();
  for (const entry of entries) {
    const { name, version } = splitTarget(entry.to);
    const key = splitKey(entry.ability, entry.from, name);
    const listed = splits.get(key);
    const one = Object.freeze({ version, weight: entry.weight });
    if (listed) listed.push(one);
    else splits.set(key, [one]);
  }
  const stable = new Map(
    former.map(({ ability, from, to }) => {
      const { name, version } = splitTarget(to);
      return [splitKey(ability, from, name), version];
    }),
  );
  return Object.freeze({
    etag,
    entries,
    listed: (ability: string, group: string, agentName: string) =>
      splits.get(splitKey(ability, group, agentName)) ?? NONE,
    lastStable: (ability: string, group: string, agentName: string) => stable.get(splitKey(ability, group, agentName)),
  });
}

/** Names one split: the versions of one agent for one ability and group. None of the parts can hold the separator. */
export function splitKey(ability: string, group: string, agentName: string): string {
  return `${ability}\u0000${group}\u0000${agentName}`;
}

/** `name#version` taken apart. */
export function splitTarget(to: string): { name: string; version: string } {
  const hash = to.indexOf('#');
  return { name: to.slice(0, hash), version: to.slice(hash + 1) };
}

/** The version that bears the most, of equals the one listed first; null when all have 0. */
export function heaviest(listed: readonly ListedVersion[]): string | null {
  let best: ListedVersion | null = null;
  for (const one of listed) if (one.weight > (best?.weight ?? 0)) best = one;
  return best?.version ?? null;
}

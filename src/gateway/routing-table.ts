import { splitTarget, type RouteEntry } from '../protocol/route-table';
import { parseRoutes, type RouteTableWritten } from '../protocol/route-table-schema';
import type { World } from '../protocol/world';
import type { RouteTableStore, RouteTableView, StoredTable } from '../registry';
import { assertHolds, type Preconditions } from './preconditions';
import { whenSeen } from './view-catch-up';

export interface RoutingTableOptions {
  store: Pick<RouteTableStore, 'read' | 'change'>;
  view: Pick<RouteTableView, 'current' | 'onChange'>;
  world: () => World;
}

/** Warnings that an answer lists; more would not be read. */
const MAX_WARNINGS = 50;

/**
 * The route table as the API has it (R21). A change is answered once this gateway's own routing goes by it; other processes
 * follow within milliseconds.
 */
export class RoutingTable {
  constructor(private readonly options: RoutingTableOptions) {}

  /** As etcd has it. @throws ReachError `engine_unavailable` */
  read(): Promise<StoredTable> {
    return this.options.store.read();
  }

  /**
   * Puts a table in the place of the one there is.
   * @throws ReachError `weights_invalid`, `invalid_request`; `context_conflict` when the preconditions do not hold
   */
  async replace(document: unknown, preconditions: Preconditions): Promise<RouteTableWritten & { etag: string }> {
    const { store, view, world } = this.options;
    const routes = parseRoutes(document);
    const { etag } = await store.change((stored) => {
      assertHolds(preconditions, stored);
      return routes;
    });
    await whenSeen(view, () => view.current().etag === etag);
    return { routes, warnings: warningsFor(routes, world()), etag };
  }

  /** Writes the routes of the configuration where nobody has ever written any. @throws ReachError `engine_unavailable` */
  async seed(routes: readonly RouteEntry[]): Promise<boolean> {
    if (routes.length === 0) return false;
    let written = false;
    await this.options.store.change(({ exists }) => {
      written = !exists;
      return exists ? null : routes;
    });
    return written;
  }
}

/** Routes that lead nowhere now. A route may be written before its version registers, so they are no mistakes yet. */
export function warningsFor(routes: readonly RouteEntry[], { agents }: Pick<World, 'agents'>): string[] {
  const abilities = new Map(
    agents.map(({ name, version, descriptor }) => [
      `${name}#${version}`,
      new Set(descriptor.capabilities.map((capability) => capability.name)),
    ]),
  );
  const names = new Set(agents.map(({ name }) => name));
  const warnings = routes.flatMap(({ ability, to }, position) => {
    const offered = abilities.get(to);
    const { name } = splitTarget(to);
    if (offered?.has(ability)) return [];
    const why = offered
      ? `${to} does not offer ${ability}`
      : names.has(name)
        ? `${to} is not registered`
        : `there is no agent ${name}`;
    return [`/routes/${position}: ${why} (yet); nobody gets calls by this route until that changes`];
  });
  const more = warnings.length - MAX_WARNINGS;
  return more > 0 ? [...warnings.slice(0, MAX_WARNINGS), `and ${more} more`] : warnings;
}

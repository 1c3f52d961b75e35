import type { Config } from './config';
import { bulkheadLimit } from './policy/bulkhead-limit';
import type { AgentVersion, World } from './protocol/world';

/** How many calls each agent may have at once on the whole platform (R29), as of the registry's view. */
export class ConcurrencyLimits {
  private seen: World | null = null;
  private byName = new Map<string, AgentVersion[]>();

  constructor(
    private readonly world: () => World,
    private readonly settings: Config['bulkhead'],
  ) {}

  /** By hand, by what its instances take, by Little's law, or the default. */
  of({ name }: Pick<AgentVersion, 'name'>): number {
    const world = this.world();
    const versions = this.versionsOf(world, name);
    return bulkheadLimit({
      byHand: this.settings.limits[name] ?? null,
      maxConcurrency: summedConcurrency(versions),
      ...littlesLaw(world, versions),
      fallback: this.settings.default_limit,
    });
  }

  private versionsOf(world: World, name: string): AgentVersion[] {
    if (world !== this.seen) {
      this.seen = world;
      this.byName = new Map();
      for (const agent of world.agents) {
        const known = this.byName.get(agent.name);
        if (known) known.push(agent);
        else this.byName.set(agent.name, [agent]);
      }
    }
    return this.byName.get(name) ?? [];
  }
}

/** Null as soon as one instance says nothing. */
function summedConcurrency(versions: readonly AgentVersion[]): number | null {
  const limits = versions.flatMap(({ instances }) => instances.map(({ max_concurrency }) => max_concurrency));
  if (limits.length === 0) return null;
  return limits.reduce<number | null>((sum, limit) => (sum === null || limit === null ? null : sum + limit), 0);
}

/** The declared rate and the slowest measured p99 of the agent's abilities; a version that declares no rate is not limited by it. */
function littlesLaw({ stats }: World, versions: readonly AgentVersion[]): { qps: number | null; p99Ms: number | null } {
  let qps = 0;
  let p99Ms = 0;
  for (const { name, version, descriptor } of versions) {
    if (descriptor.qps === undefined) return { qps: null, p99Ms: null };
    qps += descriptor.qps;
    for (const ability of descriptor.capabilities)
      p99Ms = Math.max(p99Ms, stats.ability(name, version, ability.name)?.p99_ms ?? 0);
  }
  return { qps, p99Ms: p99Ms === 0 ? null : p99Ms };
}

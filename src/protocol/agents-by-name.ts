import type { AgentVersion, World } from './world';

const NONE: readonly AgentVersion[] = [];

/** The versions of agents by name, as of the world there is when it is asked; indexed once for each. */
export class AgentsByName {
  private seen: World | null = null;
  private byName = new Map<string, AgentVersion[]>();

  constructor(private readonly world: () => World) {}

  of(name: string): readonly AgentVersion[] {
    return this.index().get(name) ?? NONE;
  }

  find(name: string, version: string): AgentVersion | undefined {
    return this.of(name).find((agent) => agent.version === version);
  }

  private index(): ReadonlyMap<string, AgentVersion[]> {
    const world = this.world();
    if (world === this.seen) return this.byName;
    this.seen = world;
    this.byName = new Map();
    for (const agent of world.agents) {
      const known = this.byName.get(agent.name);
      if (known) known.push(agent);
      else this.byName.set(agent.name, [agent]);
    }
    return this.byName;
  }
}

import type { BreakerKey } from '../../protocol/reliability';

/** A map by ability of a version of an agent. A look-up allocates nothing, and most end at the agent's name. */
export class AbilityMap<T> {
  private readonly agents = new Map<string, Map<string, Map<string, T>>>();

  get({ agentName, agentVersion, ability }: BreakerKey): T | undefined {
    return this.agents.get(agentName)?.get(agentVersion)?.get(ability);
  }

  set({ agentName, agentVersion, ability }: BreakerKey, value: T): void {
    const versions = this.agents.get(agentName) ?? new Map<string, Map<string, T>>();
    const abilities = versions.get(agentVersion) ?? new Map<string, T>();
    this.agents.set(agentName, versions.set(agentVersion, abilities.set(ability, value)));
  }

  delete({ agentName, agentVersion, ability }: BreakerKey): void {
    const versions = this.agents.get(agentName);
    const abilities = versions?.get(agentVersion);
    abilities?.delete(ability);
    if (abilities?.size === 0) versions?.delete(agentVersion);
    if (versions?.size === 0) this.agents.delete(agentName);
  }

  /** All of an agent, or of one of its versions. */
  deleteAgent(agentName: string, version?: string): void {
    const versions = this.agents.get(agentName);
    if (version !== undefined) versions?.delete(version);
    if (version === undefined || versions?.size === 0) this.agents.delete(agentName);
  }

  /** Entries may be deleted while they are walked. */
  *entries(): Generator<[BreakerKey, T]> {
    for (const [agentName, versions] of this.agents)
      for (const [agentVersion, abilities] of versions)
        for (const [ability, value] of abilities) yield [{ agentName, agentVersion, ability }, value];
  }
}

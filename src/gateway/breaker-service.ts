import type { BreakerItem, BreakerOverrideRequest } from '../protocol/breaker-override';
import { ReachError } from '../protocol/reach-error';
import type { BreakerKey, BreakerView } from '../protocol/reliability';
import type { BreakerHub } from '../registry/breakers';
import type { AgentCatalogue } from './agent-catalogue';

/** Whose breakers are meant; without a version those of every registered one. */
export interface BreakerScope {
  agentName: string;
  ability: string;
  version: string | undefined;
}

/** What the breakers of the platform are asked for. */
export type BreakerControl = Pick<BreakerHub, 'list' | 'view' | 'override' | 'clearOverride'>;

/** Circuit breakers as operators see and hold them (R28). */
export class BreakerService {
  constructor(
    private readonly breakers: BreakerControl,
    private readonly catalogue: AgentCatalogue,
  ) {}

  /** By agent, version and ability; `all` adds those of registered abilities that are closed. */
  list(all: boolean): BreakerItem[] {
    const items = new Map(this.breakers.list().map(({ key, view }) => [idOf(key), itemOf(key, view)]));
    if (all)
      for (const { name } of this.catalogue.agents())
        for (const key of this.registered(name)) items.set(idOf(key), this.item(key));
    return [...items].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, item]) => item);
  }

  /** @throws ReachError `agent_not_found`, `ability_not_found`, `version_not_found`, `engine_unavailable` */
  async hold(scope: BreakerScope, request: BreakerOverrideRequest, by: string): Promise<BreakerItem[]> {
    const { state, reason, expires_in_sec: seconds } = request;
    const keys = this.keys(scope);
    const expiresInMs = typeof seconds === 'number' ? seconds * 1_000 : null;
    await Promise.all(keys.map((key) => this.breakers.override(key, { state, reason, by, expiresInMs })));
    return keys.map((key) => this.item(key));
  }

  /** @throws ReachError `agent_not_found`, `ability_not_found`, `version_not_found`, `engine_unavailable` */
  async release(scope: BreakerScope): Promise<BreakerItem[]> {
    const keys = this.keys(scope);
    await Promise.all(keys.map((key) => this.breakers.clearOverride(key)));
    return keys.map((key) => this.item(key));
  }

  private keys({ agentName, ability, version }: BreakerScope): BreakerKey[] {
    const registered = this.registered(agentName);
    // What an operator holds can be taken back after the ability was taken out of the descriptor.
    const held = this.breakers.list().flatMap(({ key, view }) => (view.override ? [key] : []));
    const known = new Map([...registered, ...held].map((key) => [idOf(key), key]));
    const offered = [...known.values()].filter((key) => key.agentName === agentName && key.ability === ability);
    if (offered.length === 0) throw this.unknownAbility(agentName, ability, registered);
    const wanted = offered.filter(({ agentVersion }) => version === undefined || agentVersion === version);
    if (wanted.length === 0) throw unknownVersion(agentName, ability, offered);
    return wanted;
  }

  /** @throws ReachError `agent_not_found` */
  private registered(agentName: string): BreakerKey[] {
    return this.catalogue
      .agent(agentName)
      .abilities.map(({ name, agent_version }) => ({ agentName, agentVersion: agent_version, ability: name }));
  }

  private unknownAbility(agentName: string, ability: string, registered: readonly BreakerKey[]): ReachError {
    this.catalogue.ability(ability);
    const offered = [...new Set(registered.map((key) => key.ability))].join(', ');
    return new ReachError(
      'ability_not_found',
      `${agentName} does not offer ${JSON.stringify(ability.slice(0, 200))}; it offers ${offered}`,
    );
  }

  private item(key: BreakerKey): BreakerItem {
    return itemOf(key, this.breakers.view(key));
  }
}

function unknownVersion(agentName: string, ability: string, offered: readonly BreakerKey[]): ReachError {
  const available = offered.map(({ agentVersion }) => agentVersion);
  const message = `No such version of ${agentName} offers ${ability}; there is ${available.join(', ')}`;
  return new ReachError('version_not_found', `${message}. Leave the version out to mean them all`, {
    diagnosis: { reason: 'version_mismatch', message, available_versions: available },
  });
}

function itemOf({ agentName, agentVersion, ability }: BreakerKey, view: BreakerView): BreakerItem {
  return { agent_name: agentName, agent_version: agentVersion, ability, ...view };
}

/** Orders by agent, version and ability; no part contains a line feed. */
function idOf({ agentName, agentVersion, ability }: BreakerKey): string {
  return `${agentName}\n${agentVersion}\n${ability}`;
}

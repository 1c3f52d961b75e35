import { ERROR_TABLE } from '../protocol/error-codes';
import type { Envelope } from '../protocol/envelope';
import type { ReachError } from '../protocol/reach-error';
import type { Decision } from '../protocol/shapes';
import type { AgentsByName } from '../protocol/agents-by-name';
import type { DemandKey } from '../registry';

/** Counts what is asked of agents (R35): also what had to be refused, or an agent that cannot keep up would look idle. */
export class Arrivals {
  constructor(
    private readonly demand: { arrived(key: DemandKey): void },
    private readonly agents: AgentsByName,
  ) {}

  /** A reach goes to whom the decision chose. */
  sent({ chosen }: Decision): void {
    const { agent_name: agentName, agent_version: agentVersion, ability } = chosen;
    this.demand.arrived({ agentName, agentVersion, ability });
  }

  /** A reach was refused for lack of capacity: it counts for the agent that would have had it. */
  refused({ code, options }: ReachError, { ability, target_agent }: Pick<Envelope, 'ability' | 'target_agent'>): void {
    const { class: errorClass } = ERROR_TABLE[code];
    const isEstimate = code === 'deadline_exceeded';
    if ((errorClass !== 'degraded' && errorClass !== 'transient' && !isEstimate) || !ability || ability === '*') return;
    const first = options.diagnosis?.agents?.[0];
    const [name, version] = target_agent?.split('#') ?? [];
    const agentName = options.extra?.agent_name ?? first?.agent_name ?? name;
    if (agentName === undefined) return;
    const agentVersion =
      options.extra?.agent_version ?? first?.agent_version ?? version ?? this.agents.of(agentName)[0]?.version;
    if (agentVersion !== undefined && this.offers({ agentName, agentVersion, ability }))
      this.demand.arrived({ agentName, agentVersion, ability });
  }

  /** Names that strangers make up are counted nowhere. */
  private offers({ agentName, agentVersion, ability }: DemandKey): boolean {
    const agent = this.agents.find(agentName, agentVersion);
    return agent?.descriptor.capabilities.some(({ name }) => name === ability) ?? false;
  }
}

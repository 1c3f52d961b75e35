import { stickyKeyOf, type Envelope } from '../protocol/envelope';
import { ReachError } from '../protocol/reach-error';
import { routedTarget, type RoutedTarget } from '../protocol/routed-target';
import type { Decision } from '../protocol/shapes';
import type { World } from '../protocol/world';
import { fallbackFor, type Router, type RouteRequest } from '../routing';
import type { Routed } from '../../workflows/messages';
import { fallbackDecision, mayStandInFor } from './fallback';
import type { Feasibility } from './feasibility';
import { knownFindings } from './payload-opening';
import type { Plan } from './reach-start';

/** What reaches are routed with. */
export interface ReachRoutingOptions {
  router: Pick<Router, 'route' | 'stillGood'>;
  world: () => World;
  protocolTimeoutMs: number;
  newMessageId: () => string;
  /** Logs the decision for a fixed answer, which no router makes (R30). */
  keepStandIn: (decision: Decision, reachId: string) => void;
  /** Whether the deadline can be met (R25); throws where it cannot and that is to be refused. */
  feasibility: Pick<Feasibility, 'check'>;
}

/** What a reach is routed for. */
export interface RouteOccasion {
  reachId: string;
  /** `agent/ability` of the calls above (R10). */
  chain?: string[];
}

/** Decides once, at the rim, who gets a reach: by the router, or by the ability's fallback where nobody can take it. */
export class ReachRouting {
  constructor(private readonly options: ReachRoutingOptions) {}

  /**
   * Who gets it, and whether that can be in time; or what stands in for them.
   *
   * @throws ReachError when nobody can take it, or not in time
   */
  async route(envelope: Envelope, occasion: RouteOccasion): Promise<Pick<Plan, 'routed' | 'estimate'>> {
    try {
      const routed = await this.routeTo(envelope, occasion);
      return { routed, estimate: this.options.feasibility.check(routed, envelope) };
    } catch (refusal) {
      const standIn = refusal instanceof ReachError ? await this.standIn(envelope, refusal, occasion) : null;
      if (standIn) return { routed: standIn };
      throw refusal;
    }
  }

  private async routeTo(envelope: Envelope, { chain, reachId }: RouteOccasion): Promise<Routed> {
    const request = { ...routeRequest(envelope), chain };
    const decision = await this.options.router.route(request, { reachId, tellsCaller: true });
    return {
      decision,
      target: this.targetOf(decision.chosen),
      ready: envelope.mode === 'sync' || this.options.router.stillGood(decision, request),
    };
  }

  private targetOf({ agent_name, agent_version, ability }: Decision['chosen']): RoutedTarget {
    const { agents } = this.options.world();
    const agent = agents.find(({ name, version }) => name === agent_name && version === agent_version);
    if (agent) return routedTarget(agent.descriptor, ability, this.options.protocolTimeoutMs);
    throw new ReachError('no_ready_instance', `${agent_name} was removed a moment ago`, { retryAfterMs: 1_000 });
  }

  /** Nobody can take it now, through no fault of the caller's: the ability's fallback may (R30). */
  private async standIn(envelope: Envelope, refusal: ReachError, occasion: RouteOccasion): Promise<Routed | null> {
    const declared = mayStandInFor(refusal) ? fallbackFor(this.options.world(), routeRequest(envelope)) : undefined;
    if (!declared) return null;
    const { fallback } = declared;
    const because = refusal.code;
    if ('agent' in fallback) {
      const asked = { ...envelope, target_agent: fallback.agent, version: undefined };
      const routed = await this.routeTo(asked, occasion).catch(() => null);
      return routed && { ...routed, stand_in: { because } };
    }
    const decision = fallbackDecision(envelope, { declared, refusal, decisionId: this.options.newMessageId() });
    const target = this.targetOf(decision.chosen);
    this.options.keepStandIn(decision, occasion.reachId);
    return { decision, target, ready: true, stand_in: { because, output: fallback.output } };
  }
}

/** The part of an envelope that routing reads. */
export function routeRequest(
  envelope: Pick<Envelope, 'payload' | 'type' | 'group' | 'mode' | 'metadata'> & Partial<Envelope>,
): RouteRequest {
  const { ability, target_agent, payload, type, version, group, mode, metadata } = envelope;
  const sticky_key = stickyKeyOf(envelope);
  const request = { ability, target_agent, payload, type, version, group, sticky_key, mode, metadata };
  const findings = knownFindings(payload);
  return findings ? { ...request, findings } : request;
}

import { isTransient, type ErrorCode } from '../src/protocol/error-codes';
import { ReachError } from '../src/protocol/reach-error';
import { routedTarget } from '../src/protocol/routed-target';
import type { RouteRequest } from '../src/routing';
import type { RouteInput, RouteOutput, Routed } from '../workflows/messages';
import { findAgent, type ActivityDependencies } from './dependencies';
import { asFailure } from './failure';

/**
 * The `route` activity: lets the gateway's decision stand while its agent is still ready, else decides anew
 * on this worker's own view of the registry.
 */
export async function route(deps: ActivityDependencies, input: RouteInput): Promise<RouteOutput> {
  const request = routeRequest(input);
  if (input.proposed?.ready && deps.router.stillGood(input.proposed.decision, request)) return { stands: true };
  return { stands: false, routed: await decide(deps, request) };
}

/** The `awaitReady` activity: fails, to be retried by the server, until an agent is ready; for good when none ever can be. */
export async function awaitReady(deps: ActivityDependencies, input: RouteInput): Promise<Routed> {
  const routed = await decide(deps, { ...routeRequest(input), mode: 'sync' }, isTransient);
  if (routed.ready) return routed;
  throw asFailure(new ReachError('no_ready_instance', `${routed.decision.chosen.agent_name} is not ready yet`), true);
}

async function decide(
  deps: ActivityDependencies,
  request: RouteRequest,
  worthRetrying: (code: ErrorCode) => boolean = () => false,
): Promise<Routed> {
  try {
    const decision = await deps.router.route(request);
    const { agent_name, agent_version, ability } = decision.chosen;
    const agent = findAgent(deps.world(), agent_name, agent_version);
    if (!agent) throw new ReachError('no_ready_instance', `${agent_name} was removed while it was being chosen`);
    return {
      decision,
      target: routedTarget(agent.descriptor, ability, deps.protocolTimeoutMs),
      ready: deps.router.stillGood(decision, request),
    };
  } catch (caught) {
    const error = ReachError.from(caught);
    throw asFailure(error, worthRetrying(error.code));
  }
}

/** The part of a reach that routing reads. */
export function routeRequest({ envelope, exclude }: Pick<RouteInput, 'envelope' | 'exclude'>): RouteRequest {
  return {
    ability: envelope.ability,
    target_agent: envelope.target_agent,
    payload: envelope.payload as RouteRequest['payload'],
    type: envelope.type,
    version: envelope.version,
    group: envelope.group,
    mode: envelope.mode,
    metadata: envelope.metadata,
    exclude,
  };
}

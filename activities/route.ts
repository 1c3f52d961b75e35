import { Context } from '@temporalio/activity';
import { stickyKeyOf } from '../src/protocol/envelope';
import { isRetryableByCaller } from '../src/protocol/error-codes';
import { ReachError } from '../src/protocol/reach-error';
import { routedTarget } from '../src/protocol/routed-target';
import type { DecisionOccasion, RouteRequest } from '../src/routing';
import type { RouteInput, RouteOutput, Routed } from '../workflows/messages';
import { findAgent, type ActivityDependencies } from './dependencies';
import { asFailure } from './failure';
import { withPayload } from './large-payloads';
import { treeExhausted, treeLeftMs } from './retrying';

/**
 * The `route` activity: lets the gateway's decision stand while its agent is still ready, else decides anew
 * on this worker's own view of the registry.
 */
export async function route(deps: ActivityDependencies, input: RouteInput): Promise<RouteOutput> {
  await countMove(deps, input);
  const request = routeRequest(input);
  if (input.proposed?.ready && deps.router.stillGood(input.proposed.decision, request)) {
    const ticket = await ticketFor(deps, input.proposed).catch(() => null);
    if (ticket !== null) return { stands: true, ...ticket };
  }
  return routeAnew(deps, input);
}

/** Moving on to another agent is a retry of the tree (R27), decided here like every other. */
async function countMove(deps: ActivityDependencies, { moving, exclude, envelope }: RouteInput): Promise<void> {
  if (!moving) return;
  const { tree, reach_id } = moving;
  const id = [reach_id, 'moved', String(exclude.length)];
  if (await deps.tree.takeRetry({ tree, id, ttlMs: treeLeftMs(tree, envelope.timeout_ms) })) return;
  throw asFailure(new ReachError('retry_budget_exhausted', treeExhausted(tree)), false);
}

/** Whoever is chosen and then turned away by a breaker at the last moment gives way to the next best. */
async function routeAnew(deps: ActivityDependencies, input: RouteInput): Promise<RouteOutput> {
  const request = routeRequest(input);
  const routed = await decide(deps, request).catch((caught: unknown) => waiting(deps, input, ReachError.from(caught)));
  try {
    return { stands: false, routed, ...(await ticketFor(deps, routed)) };
  } catch (caught) {
    const { agent_name, agent_version } = routed.decision.chosen;
    const others = { ...request, exclude: [...(request.exclude ?? []), `${agent_name}#${agent_version}`] };
    const next = await decide(deps, others).catch(() => null);
    const ticket = next && (await ticketFor(deps, next).catch(() => null));
    if (!next || !ticket) return { stands: false, routed: waiting(deps, input, ReachError.from(caught)) };
    return { stands: false, routed: next, ...ticket };
  }
}

/**
 * What was accepted waits for better times, as nobody can take it only for now: a durable hand-over always, and everything
 * while this worker is cut off from etcd. The gateway could not see then what is refused here, and a breaker that opened
 * on this worker's word alone is not probed before etcd is back. Else it fails.
 */
function waiting(deps: ActivityDependencies, input: RouteInput, refusal: ReachError): Routed {
  const patient = input.envelope.mode === 'async' || deps.isCutOff();
  if (patient && input.proposed && isRetryableByCaller(refusal.code)) return { ...input.proposed, ready: false };
  report(deps, input, refusal);
  throw asFailure(refusal, false);
}

/** That nobody can take it is told as where a gateway finds it (R22); that nobody else is left after a failure is no news. */
function report(deps: ActivityDependencies, { exclude }: RouteInput, refusal: ReachError): void {
  if (exclude.length === 0) deps.reportRefusal(refusal);
}

/** Leave to pass the breaker, for agents that pull: no activity of ours will ask for it at the call. */
async function ticketFor(
  deps: ActivityDependencies,
  { decision: { chosen }, target, ready }: Routed,
): Promise<Pick<RouteOutput, 'ticket'>> {
  if (target.protocol !== 'worker' || !ready) return {};
  const key = { agentName: chosen.agent_name, agentVersion: chosen.agent_version, ability: chosen.ability };
  const admission = { mark: chosen.admission ?? null, retry: false, budgetMs: target.timeout_ms };
  return { ticket: await deps.breakers.enter(key, admission) };
}

/** Nobody polls more often than this while no agent is ready, ms. */
const READY_POLL_MS = 1_000;

/** The `awaitReady` activity: fails, to be retried by the server, until an agent is ready; for good when none ever can be. */
export async function awaitReady(
  deps: ActivityDependencies,
  input: RouteInput,
): Promise<Routed & Pick<RouteOutput, 'ticket'>> {
  try {
    // It asks every second or so until somebody is ready: that nobody is yet is not news to the log.
    const routed = await decide(deps, { ...routeRequest(input), mode: 'sync' }, { refusalIsNoNews: true });
    // Those who wait for a breaker come together: each asks leave, and who gets none comes back.
    if (routed.ready) return { ...routed, ...(await ticketFor(deps, routed)) };
    throw new ReachError('no_ready_instance', `${routed.decision.chosen.agent_name} is not ready yet`);
  } catch (caught) {
    const error = ReachError.from(caught);
    if (!isRetryableByCaller(error.code)) {
      report(deps, input, error);
      throw asFailure(error, false);
    }
    // Thousands may wait for the same agent: how often each comes back depends on how many they are.
    throw asFailure(error, true, { delayMs: Math.max(READY_POLL_MS, comeBackMs(deps, input, error)) });
  }
}

/** Those who wait for the same agent are counted together, and its limit says how fast they are worked off. */
function comeBackMs(deps: ActivityDependencies, { envelope }: RouteInput, error: ReachError): number {
  const [first] = error.options.diagnosis?.agents ?? [];
  const agent = first && findAgent(deps.world(), first.agent_name, first.agent_version);
  const key = agent?.name ?? envelope.target_agent ?? envelope.ability ?? '';
  const caller = Context.current().info.workflowExecution?.workflowId ?? '';
  return deps.bulkheads.turnAway({ key, limit: agent ? deps.limitOf(agent) : 1, caller });
}

/** Decides on this worker's own view. @throws ReachError when nobody fits */
export async function decide(
  deps: ActivityDependencies,
  asked: RouteRequest,
  occasion: DecisionOccasion = {},
): Promise<Routed> {
  const request = await withPayload(deps, asked);
  const reachId = occasion.reachId ?? Context.current().info.workflowExecution?.workflowId;
  const decision = await deps.router.route(request, { ...occasion, reachId });
  const { agent_name, agent_version, ability } = decision.chosen;
  const agent = findAgent(deps.world(), agent_name, agent_version);
  if (!agent) throw new ReachError('no_ready_instance', `${agent_name} was removed while it was being chosen`);
  return {
    decision,
    target: routedTarget(agent.descriptor, ability, deps.protocolTimeoutMs),
    ready: deps.router.stillGood(decision, request),
  };
}

/** The part of a reach that routing reads. */
export function routeRequest({
  envelope,
  exclude,
  chain,
}: Pick<RouteInput, 'envelope' | 'exclude' | 'chain'>): RouteRequest {
  return {
    ability: envelope.ability,
    target_agent: envelope.target_agent,
    payload: envelope.payload,
    payload_ref: envelope.payload_ref,
    type: envelope.type,
    version: envelope.version,
    group: envelope.group,
    sticky_key: stickyKeyOf(envelope),
    mode: envelope.mode,
    metadata: envelope.metadata,
    exclude,
    chain,
  };
}

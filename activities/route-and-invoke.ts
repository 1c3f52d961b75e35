import { retriesAllowed } from '../src/policy/retry';
import { mayRunLocally } from '../src/policy/fast-path';
import type { FastPathInput, FastPathOutput, InvokeInput, Routed } from '../workflows/messages';
import type { ActivityDependencies } from './dependencies';
import { invokeOnce } from './invoke';
import { route } from './route';

/**
 * The `routeAndInvoke` activity, run locally: the fast path of a reach. What `route` does, then one attempt; a
 * second local activity for the attempt would cost a round through the workflow and a history event.
 */
export async function routeAndInvoke(deps: ActivityDependencies, input: FastPathInput): Promise<FastPathOutput> {
  const answer = await route(deps, input);
  const anew = answer.stands ? null : answer.routed;
  const routed = anew ?? input.proposed;
  // A pull agent's ticket goes along: it may be the breaker's one probe, and whoever calls the agent has to give it back.
  if (!routed?.ready || !mayRunLocally(input.envelope, routed.target, input.share_ms))
    return { routed: anew, outcome: null, ...(answer.ticket && { ticket: answer.ticket }) };
  const call = attemptInput(input, routed);
  return { routed: anew, outcome: await deps.fastLane.take(call.agent_name, () => invokeOnce(deps, call)) };
}

function attemptInput(
  { tenant, envelope, share_ms, trace_id, run_start_ms, lineage, tree }: FastPathInput,
  { decision, target }: Routed,
): InvokeInput {
  const { agent_name, agent_version, ability } = decision.chosen;
  return {
    tenant,
    envelope,
    decision_id: decision.decision_id,
    agent_name,
    agent_version,
    ability,
    share_ms,
    timeout_ms: target.timeout_ms,
    retries: retriesAllowed(target.max_retry, envelope.max_total_retries),
    idempotent: target.idempotent,
    attempts_before: 0,
    confirm: false,
    trace_id,
    run_start_ms,
    ...(lineage && { lineage }),
    ...(tree && { tree }),
    ...(decision.chosen.admission && { admission: decision.chosen.admission }),
  };
}

import type { ErrorCode } from '../src/protocol/error-codes';
import { elapsedMs } from './clock';
import type { InvokeOutcome, LateResult, ReachInput, ReachOutput, Routed } from './messages';
import type { Spent } from './spending';

/** What a reach remembers while it runs. */
export interface Run {
  input: ReachInput;
  routed: Routed;
  spent: Spent;
  /** `name#version` of agents that were tried in vain. */
  tried: string[];
  late: LateResult[];
}

/** The end of a reach that was answered. `degradedBy`: a fallback answered, because of this code. */
export function complete(
  run: Run,
  answer: Extract<InvokeOutcome, { kind: 'answer' }>,
  degradedBy?: ErrorCode,
): ReachOutput {
  const { chosen, route_reason, confidence, decision_id } = run.routed.decision;
  return {
    status: 'completed',
    agent_name: chosen.agent_name,
    agent_version: chosen.agent_version,
    instance: answer.instance,
    route_reason: degradedBy ? standInReason(run, route_reason, degradedBy) : route_reason,
    confidence,
    decision_id,
    output: answer.output,
    ...(answer.output_claim && { output_claim: answer.output_claim }),
    attempts: run.spent.attempts,
    duration_ms: elapsedMs(),
    ...(degradedBy && { degraded_by: degradedBy }),
  };
}

/** An agent that stands in was not named by the caller, whatever the decision says that routed to it. */
function standInReason({ input, routed }: Run, reason: string, because: ErrorCode): string {
  const { agent_name } = routed.decision.chosen;
  const named = input.envelope.target_agent?.split('#')[0];
  const standsIn = routed.decision.strategy === 'direct' && agent_name !== named;
  const who = standsIn ? `${agent_name} stands in for ${named ?? 'it'}` : reason;
  return `${who}; a fallback answers because of ${because}`;
}

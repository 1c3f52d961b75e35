/** What a reach is started with: its input, what its record keeps, and what the Temporal Web UI shows of it. Pure. */
import type { WorkflowStartOptions } from '@temporalio/client';
import type { Envelope } from '../protocol/envelope';
import type { Lineage } from '../protocol/lineage';
import { DEFAULT_MAX_TOTAL_RETRIES } from '../protocol/limits';
import type { ReachLinks, Receipt } from '../protocol/shapes';
import type { ReceiptEstimate } from './feasibility';
import type { ReachInput, ReachMemo, Routed } from '../../workflows/messages';

/** An accepted envelope: who gets it, under which id, and the digest that tells a repeat from a reused key. */
export interface Plan {
  id: string;
  envelope: Envelope;
  routed: Routed;
  digest: string;
  /** Set when another reach's agent made this one (R10). */
  lineage?: Lineage;
  /** Then to be awaited once it has started. @throws ReachError `reach_terminal` when its parent was cancelled meanwhile */
  started?: () => Promise<void>;
  /** For its receipt; nothing of it goes into the history. */
  estimate?: ReceiptEstimate;
}

/** Slack for lost workflow tasks before the server ends a run whose own deadline never came to be checked, ms. */
export const RUN_TIMEOUT_SLACK_MS = 10_000;

/** Options of the workflow's start, whichever way it is started. `callerWaits`: somebody holds a connection. */
export function startOptions(
  plan: Plan,
  facts: { tenant: string; taskQueue: string; traceId: string; callerWaits: boolean },
) {
  const { envelope, routed, digest, id, lineage } = plan;
  const { chosen } = routed.decision;
  const input: ReachInput = {
    tenant: facts.tenant,
    envelope,
    routed,
    caller_waits: facts.callerWaits,
    trace_id: facts.traceId,
    fingerprint: digest,
    ...(lineage && { lineage }),
  };
  return {
    workflowId: id,
    taskQueue: facts.taskQueue,
    args: [input],
    workflowIdReusePolicy: 'REJECT_DUPLICATE',
    workflowRunTimeout: envelope.timeout_ms + RUN_TIMEOUT_SLACK_MS,
    workflowTaskTimeout: 5_000,
    memo: memoOf(plan, facts.traceId),
    searchAttributes: {
      ReachAbility: [chosen.ability],
      ReachAgent: [chosen.agent_name],
      ReachVersion: [chosen.agent_version],
      ReachSource: [envelope.source_agent],
      ...(lineage && { ReachParent: [lineage.parent] }),
    },
    staticSummary: `${chosen.ability} → ${chosen.agent_name} (${chosen.score.toFixed(3)})`.slice(0, 200),
    staticDetails: details(plan),
  } satisfies WorkflowStartOptions;
}

/** The kept facts of a reach that has just been accepted. */
export function memoOf({ envelope, routed, digest, lineage }: Plan, traceId: string): ReachMemo {
  const { chosen, decision_id, route_reason } = routed.decision;
  return {
    fingerprint: digest,
    message_id: envelope.message_id,
    ability: chosen.ability,
    source_agent: envelope.source_agent,
    timeout_ms: envelope.timeout_ms,
    trace_id: traceId,
    decision_id,
    agent_name: chosen.agent_name,
    agent_version: chosen.agent_version,
    route_reason,
    ...notified(envelope),
    ...(lineage && { lineage }),
    ...(envelope.context_id !== undefined && { context_id: envelope.context_id }),
    ...(envelope.group !== 'default' && { group: envelope.group }),
    ...(envelope.max_total_retries !== DEFAULT_MAX_TOTAL_RETRIES && { max_total_retries: envelope.max_total_retries }),
  };
}

/** Who is told of its end (R5). */
function notified({ callback, reply_to }: Envelope): Pick<ReachMemo, 'notify'> {
  const notify = [...(callback ? ['callback' as const] : []), ...(reply_to ? ['reply' as const] : [])];
  return notify.length > 0 ? { notify } : {};
}

/** The receipt of a reach that has just been accepted. */
export function newReceipt(
  { id, envelope, routed: { decision }, estimate }: Plan,
  facts: { acceptedAt: Date; traceId: string; links: ReachLinks },
): Receipt {
  const { chosen, route_reason, decision_id } = decision;
  return {
    reach_id: id,
    message_id: envelope.message_id,
    status: 'accepted',
    stage: 'routed',
    agent_name: chosen.agent_name,
    agent_version: chosen.agent_version,
    route_reason,
    decision_id,
    accepted_at: facts.acceptedAt.toISOString(),
    expires_in_ms: envelope.timeout_ms,
    replayed: false,
    trace_id: facts.traceId,
    links: facts.links,
    ...estimate,
  };
}

/** What the Temporal Web UI shows on top of a reach, in Markdown. */
function details({ envelope, routed: { decision } }: Plan): string {
  const rows = decision.candidates
    .slice(0, 5)
    .map((candidate) => `- ${candidate.agent_name}@${candidate.agent_version}: ${candidate.score.toFixed(3)}`);
  const lines = [
    `**${escapeMarkdown(decision.route_reason)}**`,
    '',
    ...rows,
    '',
    `budget ${envelope.timeout_ms} ms, ${envelope.delivery_semantics}`,
  ];
  return lines.join('\n').slice(0, 2_000);
}

function escapeMarkdown(text: string): string {
  return text.replace(/[\\`*_{}[\]<>|]/g, '\\$&');
}

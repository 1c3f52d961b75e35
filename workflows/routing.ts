import { proxyActivities, proxyLocalActivities, upsertMemo, upsertSearchAttributes } from '@temporalio/workflow';
import type { Envelope } from '../src/protocol/envelope';
import { leftMs } from './clock';
import { failureOf, ranOutOfTime } from './failures';
import type { InvokeFailure, ReachActivities, RouteInput, Routed } from './messages';
import type { Run } from './run';
import { outOfTime } from './spending';

/** Confirms the gateway's decision, or decides anew when agents were tried in vain. Returns why nobody fits, else null. */
export async function route(
  run: Run,
  exclude: string[],
  { envelope = run.input.envelope, moving }: { envelope?: Envelope; moving?: RouteInput['moving'] } = {},
): Promise<InvokeFailure | null> {
  const { route: decide } = proxyLocalActivities<ReachActivities>({
    startToCloseTimeout: '5s',
    retry: { maximumAttempts: 3 },
  });
  const { tenant, routed } = run.input;
  const nested = run.input.lineage && { chain: run.input.lineage.chain };
  const proposed = exclude.length === 0 && envelope === run.input.envelope ? routed : null;
  try {
    const answer = await decide({ tenant, envelope, proposed, exclude, ...nested, ...(moving && { moving }) });
    run.spent.ticket = answer.ticket;
    if (!answer.stands) adopt(run, answer.routed);
    if (run.routed.ready) return null;
    const { ticket, ...routed } = await awaitReady(run, exclude, envelope);
    run.spent.ticket = ticket;
    adopt(run, routed);
    return null;
  } catch (caught) {
    const failure = failureOf(caught);
    return ranOutOfTime(caught) ? outOfTime(failure) : failure;
  }
}

/** An async reach to a known ability waits for an agent; the activity is retried by the server without new events. */
function awaitReady(run: Run, exclude: string[], envelope: Envelope): ReturnType<ReachActivities['awaitReady']> {
  const { tenant, lineage } = run.input;
  const { awaitReady: ready } = proxyActivities<ReachActivities>({
    startToCloseTimeout: '10s',
    scheduleToCloseTimeout: Math.max(1, leftMs(envelope.timeout_ms)),
    retry: { initialInterval: '1s', backoffCoefficient: 1.5, maximumInterval: '5s' },
    summary: 'waiting for an agent to be ready',
  });
  return ready({ tenant, envelope, proposed: null, exclude, ...(lineage && { chain: lineage.chain }) });
}

/** A new decision: what lists and the Web UI show follows it. */
export function adopt(run: Run, routed: Routed): void {
  const before = run.routed.decision.chosen;
  run.routed = routed;
  const { chosen, decision_id, route_reason } = routed.decision;
  if (chosen.agent_name === before.agent_name && chosen.agent_version === before.agent_version) return;
  // A delivery that nobody was found for at first learns its ability now; `*` may move on to another.
  const found = chosen.ability !== before.ability;
  upsertSearchAttributes({
    ReachAgent: [chosen.agent_name],
    ReachVersion: [chosen.agent_version],
    ...(found && { ReachAbility: [chosen.ability] }),
  });
  upsertMemo({
    decision_id,
    route_reason,
    agent_name: chosen.agent_name,
    agent_version: chosen.agent_version,
    ...(found && { ability: chosen.ability }),
  });
}

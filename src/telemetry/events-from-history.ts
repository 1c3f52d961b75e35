/**
 * The lifecycle events of a reach, as they can be read from its Temporal history. Pure: one history event in, the
 * lifecycle events that it stands for out.
 */
import { REACH_ENDS, type ReachEventName } from '../protocol/reach-event';
import type { AttemptRecord } from '../protocol/shapes';
import { decodeFirst, eventTime, localActivity, type HistoryEvent, type RoutedFacts } from './history';

/** One lifecycle event. `seq` is the id of the history event behind it; `id` (opaque) also tells siblings apart. */
export interface ReachEvent {
  id: string;
  seq: number;
  event: ReachEventName;
  data: Record<string, unknown>;
  terminal: boolean;
}

type Draft = Pick<ReachEvent, 'event' | 'data'>;

/** The lifecycle events behind one history event, in order; most history events stand for none. */
export function eventsOf(event: HistoryEvent): ReachEvent[] {
  const seq = Number(event.eventId ?? 0);
  const at = new Date(eventTime(event)).toISOString();
  return drafts(event).map((draft, index) => ({
    id: `${seq}.${index}`,
    seq,
    event: draft.event,
    data: { seq, at, ...draft.data },
    terminal: REACH_ENDS.has(draft.event),
  }));
}

function drafts(event: HistoryEvent): Draft[] {
  return [...started(event), ...fromLocal(event), ...fromActivity(event), ...acknowledged(event), ...ended(event)];
}

function started(event: HistoryEvent): Draft[] {
  const input = decodeFirst<{ routed: RoutedFacts; trace_id: string }>(
    event.workflowExecutionStartedEventAttributes?.input,
  );
  if (!input) return [];
  return [{ event: 'accepted', data: { trace_id: input.trace_id } }, routed(input.routed)];
}

function routed({ decision }: RoutedFacts): Draft {
  const { decision_id, route_reason, chosen } = decision;
  return {
    event: 'routed',
    data: { decision_id, route_reason, agent_name: chosen.agent_name, agent_version: chosen.agent_version },
  };
}

/** A new decision, and the failed attempts of the fast path and of pull agents. */
function fromLocal(event: HistoryEvent): Draft[] {
  const local = localActivity(event);
  const anew = local?.result?.routed ? [routed(local.result.routed)] : [];
  return [...anew, ...failures(local?.result?.attempts ?? local?.result?.outcome?.attempts)];
}

function fromActivity(event: HistoryEvent): Draft[] {
  const completed = decodeFirst<{ attempts?: AttemptRecord[] }>(event.activityTaskCompletedEventAttributes?.result);
  const failure = event.activityTaskFailedEventAttributes?.failure?.applicationFailureInfo?.details;
  return failures(completed?.attempts ?? decodeFirst<{ attempts?: AttemptRecord[] }>(failure)?.attempts);
}

function failures(attempts: AttemptRecord[] | undefined): Draft[] {
  return (attempts ?? [])
    .filter(({ code }) => code !== undefined)
    .map((attempt) => ({ event: 'attempt_failed', data: { ...attempt } }));
}

function acknowledged(event: HistoryEvent): Draft[] {
  const stage = event.workflowPropertiesModifiedEventAttributes?.upsertedMemo?.fields?.stage;
  return stage ? [{ event: 'agent_accepted', data: {} }] : [];
}

function ended(event: HistoryEvent): Draft[] {
  if (event.workflowExecutionCompletedEventAttributes) {
    const result = decodeFirst<Record<string, unknown>>(event.workflowExecutionCompletedEventAttributes.result);
    return [{ event: 'completed', data: { ...result, degraded: result?.degraded_by !== undefined } }];
  }
  const failed = event.workflowExecutionFailedEventAttributes;
  if (failed) {
    const failure = decodeFirst<{ status: 'dead_lettered' | 'expired' | 'outcome_unknown'; problem: object }>(
      failed.failure?.applicationFailureInfo?.details,
    );
    return [{ event: failure?.status ?? 'dead_lettered', data: { error: failure?.problem ?? {} } }];
  }
  if (event.workflowExecutionCanceledEventAttributes) return [{ event: 'cancelled', data: {} }];
  if (event.workflowExecutionTimedOutEventAttributes) return [{ event: 'expired', data: {} }];
  return event.workflowExecutionTerminatedEventAttributes
    ? [{ event: 'dead_lettered', data: { reason: 'terminated by an operator' } }]
    : [];
}

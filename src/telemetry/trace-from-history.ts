/**
 * The trace of a reach from its Temporal history (R33): the history is the trace, nothing else is recorded. Pure;
 * it reads the payloads that our own workflow and activities wrote.
 */
import type { temporal } from '@temporalio/proto';
import { defaultPayloadConverter } from '@temporalio/common';
import type { AttemptRecord, TraceHop } from '../protocol/shapes';

type Event = temporal.api.history.v1.IHistoryEvent;
type Payload = temporal.api.common.v1.IPayload;

/** What the marker of a local activity says of it. */
interface LocalActivity {
  activity_type: string;
  /** RFC 3339, when it completed. */
  complete_time?: { seconds: number; nanos: number } | string;
}

/** The steps of a reach in the order of their start. Durations are milliseconds. */
export function hopsFromHistory(events: readonly Event[]): TraceHop[] {
  const hops: TraceHop[] = [];
  const scheduled = new Map<string, Event>();
  const started = new Map<string, Event>();
  let taskStarted = events[0];
  for (const event of events) {
    if (event.workflowTaskStartedEventAttributes) {
      if (hops.length === 0) hops.push(accepted(events[0] ?? event, event));
      taskStarted = event;
    }
    if (event.activityTaskScheduledEventAttributes) scheduled.set(String(event.eventId), event);
    if (event.activityTaskStartedEventAttributes) started.set(String(event.activityTaskStartedEventAttributes.scheduledEventId), event);
    hops.push(...markerHops(event, taskStarted ?? event));
    hops.push(...activityHops(event, scheduled, started));
    hops.push(...waitHops(event, events));
  }
  return hops;
}

function accepted(first: Event, task: Event): TraceHop {
  return { name: 'accept', started_at: iso(first), duration_ms: between(first, task), outcome: 'ok', reason: 'durable; waited this long for a worker' };
}

/** Local activities leave one marker when they are done: `route` and the fast path's `invokeOnce`. */
function markerHops(event: Event, task: Event): TraceHop[] {
  const marker = event.markerRecordedEventAttributes;
  if (marker?.markerName !== 'core_local_activity') return [];
  const { activity_type } = decode<LocalActivity>(marker.details?.data) ?? { activity_type: '' };
  const result = decode<{ stands?: boolean; attempts?: AttemptRecord[]; routed?: { decision: { route_reason: string } } }>(marker.details?.result);
  if (activity_type === 'route') {
    const reason = result?.stands === false ? `decided anew: ${result.routed?.decision.route_reason ?? ''}` : 'the decision at acceptance stands';
    return [{ name: 'route', started_at: iso(task), duration_ms: between(task, event), outcome: marker.failure ? 'failed' : 'ok', reason: marker.failure?.message ?? reason }];
  }
  return (result?.attempts ?? []).map(invokeHop);
}

/** A regular activity: its wait for a worker, then the attempts that it reports. */
function activityHops(event: Event, scheduled: ReadonlyMap<string, Event>, started: ReadonlyMap<string, Event>): TraceHop[] {
  const done =
    event.activityTaskCompletedEventAttributes ?? event.activityTaskFailedEventAttributes ?? event.activityTaskTimedOutEventAttributes ?? event.activityTaskCanceledEventAttributes;
  if (!done) return [];
  const at = scheduled.get(String(done.scheduledEventId));
  const begun = started.get(String(done.scheduledEventId));
  if (!at) return [];
  const type = at.activityTaskScheduledEventAttributes?.activityType?.name;
  if (type === 'awaitReady') return [{ name: 'queue', started_at: iso(at), duration_ms: between(at, event), outcome: 'ok', reason: 'no agent was ready yet' }];
  const attempts = attemptsOf(event);
  const wait = waited(at, begun ?? event, attempts[0]);
  return [{ name: 'queue', started_at: iso(at), duration_ms: wait, outcome: begun ? 'ok' : 'not_started' }, ...attempts.map(invokeHop)];
}

/** The wait for the first attempt: a retried activity's started event is that of its last one. */
function waited(scheduledEvent: Event, startedEvent: Event, first: AttemptRecord | undefined): number {
  const untilStarted = between(scheduledEvent, startedEvent);
  if (!first) return untilStarted;
  return Math.max(0, Math.min(untilStarted, Date.parse(first.started_at) - millis(scheduledEvent)));
}

function attemptsOf(event: Event): AttemptRecord[] {
  const completed = decode<{ attempts?: AttemptRecord[] }>(event.activityTaskCompletedEventAttributes?.result);
  const failure = event.activityTaskFailedEventAttributes?.failure ?? event.activityTaskTimedOutEventAttributes?.failure;
  const details = failure?.applicationFailureInfo?.details ?? failure?.timeoutFailureInfo?.lastHeartbeatDetails;
  return completed?.attempts ?? decode<{ attempts?: AttemptRecord[] }>(details)?.attempts ?? [];
}

/** The wait for an agent that had accepted: a timer that either fired or was overtaken by the result. */
function waitHops(event: Event, events: readonly Event[]): TraceHop[] {
  const timer = event.timerFiredEventAttributes ?? event.timerCanceledEventAttributes;
  if (!timer) return [];
  const begun = events.find(({ eventId }) => String(eventId) === String(timer.startedEventId));
  const signalled = events.some((other) => other.workflowExecutionSignaledEventAttributes && Number(other.eventId) < Number(event.eventId) && Number(other.eventId) > Number(begun?.eventId ?? 0));
  if (!begun || (event.timerFiredEventAttributes && !isResultWait(begun, events))) return [];
  return [{ name: 'wait_result', started_at: iso(begun), duration_ms: between(begun, event), outcome: signalled ? 'ok' : 'expired' }];
}

/** Backoff timers are between attempts; the wait for a result follows the memo's `agent_accepted`. */
function isResultWait(timer: Event, events: readonly Event[]): boolean {
  return events.some((other) => other.workflowPropertiesModifiedEventAttributes && Number(other.eventId) < Number(timer.eventId));
}

function invokeHop(attempt: AttemptRecord): TraceHop {
  return {
    name: 'invoke',
    started_at: attempt.started_at,
    duration_ms: attempt.duration_ms,
    attempt: attempt.n,
    agent_name: attempt.agent_name,
    agent_version: attempt.agent_version,
    instance: attempt.instance,
    outcome: attempt.code ?? 'ok',
    reason: attempt.code ? `${RECEIVED[attempt.received]}: ${attempt.message ?? attempt.code}` : 'finished and acknowledged',
  };
}

const RECEIVED = { no: 'never received', yes: 'received, not finished', unknown: 'perhaps received, not acknowledged' } as const;

function decode<T>(payloads: { payloads?: Payload[] | null } | null | undefined): T | undefined {
  const payload = payloads?.payloads?.[0];
  try {
    return payload ? defaultPayloadConverter.fromPayload<T>(payload) : undefined;
  } catch {
    return undefined;
  }
}

function millis({ eventTime }: Event): number {
  return Number(eventTime?.seconds ?? 0) * 1_000 + (eventTime?.nanos ?? 0) / 1e6;
}

function iso(event: Event): string {
  return new Date(millis(event)).toISOString();
}

function between(from: Event, to: Event): number {
  return Math.max(0, Math.round(millis(to) - millis(from)));
}

/**
 * The trace of a reach from its Temporal history (R33): the history is the trace, nothing else is recorded. Pure;
 * it reads the payloads that our own workflow and activities wrote.
 */
import type { AttemptRecord, TraceHop } from '../protocol/shapes';
import {
  decodeFirst,
  eventTime,
  localActivity,
  type HistoryEvent as Event,
  type LocalRun,
  type RoutedFacts,
} from './history';

/** The steps of a reach in the order of their start. Durations are milliseconds. */
export function hopsFromHistory(events: readonly Event[]): TraceHop[] {
  const hops: TraceHop[] = [];
  const scheduled = new Map<string, Event>();
  const started = new Map<string, Event>();
  let workflowTimeMs = 0;
  let pulled: Span | null = null;
  let waiting: Event | undefined;
  let previous: Event | undefined;
  for (const event of events) {
    if (event.workflowTaskStartedEventAttributes) {
      if (hops.length === 0) hops.push(...beginning(events[0] ?? event, event));
      workflowTimeMs = eventTime(event);
    }
    if (event.activityTaskScheduledEventAttributes) scheduled.set(String(event.eventId), event);
    if (event.activityTaskStartedEventAttributes)
      started.set(String(event.activityTaskStartedEventAttributes.scheduledEventId), event);
    const local = localActivity(event);
    if (local) {
      hops.push(...localHops(local, { workflowTimeMs, pulled }));
      workflowTimeMs = local.endMs;
    }
    pulled = runOf(event, started) ?? pulled;
    hops.push(...activityHops(event, scheduled, started));
    if (event.timerStartedEventAttributes && previous?.workflowPropertiesModifiedEventAttributes) waiting = event;
    if (waiting && (event.workflowExecutionSignaledEventAttributes || event.timerFiredEventAttributes)) {
      hops.push(waitHop(waiting, event));
      waiting = undefined;
    }
    previous = event;
  }
  return hops;
}

/** The gateway's decision, made before anything was started, and the wait for a worker. */
function beginning(first: Event, task: Event): TraceHop[] {
  const input = decodeFirst<{ routed: RoutedFacts }>(first.workflowExecutionStartedEventAttributes?.input);
  const decision = input?.routed.decision;
  const routed: TraceHop[] = decision
    ? [
        {
          name: 'route',
          started_at: decision.at,
          duration_ms: 0,
          outcome: 'ok',
          reason: `at acceptance: ${decision.route_reason}`,
        },
      ]
    : [];
  const reason = 'durable; waited this long for a worker';
  return [
    ...routed,
    { name: 'accept', started_at: iso(first), duration_ms: between(first, task), outcome: 'ok', reason },
  ];
}

/** From the first to the last of two events. */
interface Span {
  from: Event;
  to: Event;
}

/** When the activity that `event` ends really ran. */
function runOf(event: Event, started: ReadonlyMap<string, Event>): Span | null {
  const end = endOf(event);
  const from = end && started.get(String(end.scheduledEventId));
  return from ? { from, to: event } : null;
}

function endOf(event: Event) {
  return (
    event.activityTaskCompletedEventAttributes ??
    event.activityTaskFailedEventAttributes ??
    event.activityTaskTimedOutEventAttributes ??
    event.activityTaskCanceledEventAttributes
  );
}

/**
 * `route` is a hop of its own; the fast path's `routeAndInvoke` is two. A pull agent's `settle` reports its attempt, which
 * the workflow could only time with its queue: the activity before it tells when it ran.
 */
function localHops(
  local: LocalRun,
  { workflowTimeMs, pulled }: { workflowTimeMs: number; pulled: Span | null },
): TraceHop[] {
  const attempts = local.result?.attempts ?? local.result?.outcome?.attempts ?? [];
  const hops = attempts.map(invokeHop);
  if (local.type === 'route') return [routeHop(local, local.endMs - workflowTimeMs)];
  if (local.type === 'routeAndInvoke') {
    const [first] = attempts;
    const routedMs = first ? Date.parse(first.started_at) - local.startMs : local.endMs - workflowTimeMs;
    const again = local.result?.routed || local.failure !== undefined;
    return again ? [routeHop(local, routedMs), ...hops] : hops;
  }
  if (local.type !== 'settle' || pulled === null) return hops;
  const times = { started_at: iso(pulled.from), duration_ms: between(pulled.from, pulled.to) };
  return hops.map((hop) => ({ ...hop, ...times }));
}

function routeHop(local: LocalRun, durationMs: number): TraceHop {
  const { routed } = local.result ?? {};
  const reason = routed ? `decided anew: ${routed.decision.route_reason}` : 'the decision at acceptance stands';
  return {
    name: 'route',
    started_at: new Date(local.startMs).toISOString(),
    duration_ms: Math.max(0, Math.round(durationMs)),
    outcome: local.failure === undefined ? 'ok' : 'failed',
    reason: local.failure ?? reason,
  };
}

/** A regular activity: its wait for a worker, then the attempts that it reports. */
function activityHops(
  event: Event,
  scheduled: ReadonlyMap<string, Event>,
  started: ReadonlyMap<string, Event>,
): TraceHop[] {
  const done = endOf(event);
  if (!done) return [];
  const at = scheduled.get(String(done.scheduledEventId));
  const begun = started.get(String(done.scheduledEventId));
  if (!at) return [];
  const type = at.activityTaskScheduledEventAttributes?.activityType?.name;
  if (type === 'awaitReady')
    return [
      {
        name: 'queue',
        started_at: iso(at),
        duration_ms: between(at, event),
        outcome: 'ok',
        reason: 'no agent was ready yet',
      },
    ];
  const attempts = attemptsOf(event);
  const wait = waited(at, begun ?? event, attempts[0]);
  return [
    { name: 'queue', started_at: iso(at), duration_ms: wait, outcome: begun ? 'ok' : 'not_started' },
    ...attempts.map(invokeHop),
  ];
}

/** The wait for the first attempt: a retried activity's started event is that of its last one. */
function waited(scheduledEvent: Event, startedEvent: Event, first: AttemptRecord | undefined): number {
  const untilStarted = between(scheduledEvent, startedEvent);
  if (!first) return untilStarted;
  return Math.round(Math.max(0, Math.min(untilStarted, Date.parse(first.started_at) - eventTime(scheduledEvent))));
}

function attemptsOf(event: Event): AttemptRecord[] {
  const completed = decodeFirst<{ attempts?: AttemptRecord[] }>(event.activityTaskCompletedEventAttributes?.result);
  const failure =
    event.activityTaskFailedEventAttributes?.failure ?? event.activityTaskTimedOutEventAttributes?.failure;
  const details = failure?.applicationFailureInfo?.details ?? failure?.timeoutFailureInfo?.lastHeartbeatDetails;
  return completed?.attempts ?? decodeFirst<{ attempts?: AttemptRecord[] }>(details)?.attempts ?? [];
}

/**
 * The wait for an agent that had accepted: its timer stands right behind the memo's `agent_accepted` (backoff timers
 * do not), and a result signal or the timer itself ends it.
 */
function waitHop(begun: Event, end: Event): TraceHop {
  const outcome = end.workflowExecutionSignaledEventAttributes ? 'ok' : 'expired';
  return { name: 'wait_result', started_at: iso(begun), duration_ms: between(begun, end), outcome };
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
    reason: attempt.code
      ? `${RECEIVED[attempt.received]}: ${attempt.message ?? attempt.code}`
      : 'finished and acknowledged',
  };
}

const RECEIVED = {
  no: 'never received',
  yes: 'received, not finished',
  unknown: 'perhaps received, not acknowledged',
} as const;

function iso(event: Event): string {
  return new Date(eventTime(event)).toISOString();
}

function between(from: Event, to: Event): number {
  return Math.max(0, Math.round(eventTime(to) - eventTime(from)));
}

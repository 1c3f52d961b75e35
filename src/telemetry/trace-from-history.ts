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

const RESULT_SIGNAL = 'result';
/** Activities that are no step of a reach: what they find is told by what follows. */
const UNSEEN: ReadonlySet<string> = new Set(['awaitSilence', 'endChildren']);

/** The steps of a reach in the order of their start. Durations are milliseconds. */
export function hopsFromHistory(events: readonly Event[]): TraceHop[] {
  const hops: TraceHop[] = [];
  const scheduled = new Map<string, Event>();
  const started = new Map<string, Event>();
  let workflowTimeMs = 0;
  let pulled: Span | null = null;
  let waiting: Event | undefined;
  let previous: Event | undefined;
  const results = new Set<string>();
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
    const result = lateResult(event);
    const awaited = result !== null && !results.has(result.key) && result.attempt > lastGivenUp(hops);
    if (result) results.add(result.key);
    if (result && !awaited) hops.push(discardedHop(event, result.attempt));
    if (waiting && (awaited || event.timerFiredEventAttributes || isSilence(event, scheduled))) {
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
  if (local.type === 'notify') return [notifyHop(local)];
  if (local.type !== 'settle' || pulled === null) return hops;
  const times = { started_at: iso(pulled.from), duration_ms: between(pulled.from, pulled.to) };
  return hops.map((hop) => ({ ...hop, ...times }));
}

/** The end is told by deliveries of their own, which begin here and go on when the reach is over (R5). */
function notifyHop(local: LocalRun): TraceHop {
  return {
    name: 'notify',
    started_at: new Date(local.startMs).toISOString(),
    duration_ms: Math.max(0, Math.round(local.endMs - local.startMs)),
    outcome: local.failure === undefined ? 'ok' : 'failed',
    reason: local.failure ?? 'the end is on its way to the callback or the reply_to; /v1/callbacks shows how it stands',
  };
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
  if (UNSEEN.has(type ?? '')) return [];
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
  const details =
    failure?.applicationFailureInfo?.details ??
    failure?.timeoutFailureInfo?.lastHeartbeatDetails ??
    event.activityTaskCanceledEventAttributes?.details;
  return completed?.attempts ?? decodeFirst<{ attempts?: AttemptRecord[] }>(details)?.attempts ?? [];
}

/**
 * The wait for an agent that had accepted: its timer stands right behind the memo's `agent_accepted` (backoff timers
 * do not), and a result signal or the timer itself ends it.
 */
function waitHop(begun: Event, end: Event): TraceHop {
  const silent = end.activityTaskCompletedEventAttributes ? 'silent' : 'expired';
  const outcome = end.workflowExecutionSignaledEventAttributes ? 'ok' : silent;
  return { name: 'wait_result', started_at: iso(begun), duration_ms: between(begun, end), outcome };
}

/** The attempt that an agent delivers a result for; null for every event but that signal. */
function lateResult(event: Event): { attempt: number; key: string } | null {
  const signal = event.workflowExecutionSignaledEventAttributes;
  if (!signal || signal.signalName !== RESULT_SIGNAL) return null;
  const { run_id = '', attempt = 0 } = decodeFirst<{ run_id: string; attempt: number }>(signal.input) ?? {};
  return { attempt, key: `${run_id}/${attempt}` };
}

/** The last attempt that was not waited for any longer, since the agent had fallen silent. */
function lastGivenUp(hops: readonly TraceHop[]): number {
  const silent = hops.findLastIndex(({ name, outcome }) => name === 'wait_result' && outcome === 'silent');
  return hops.slice(0, Math.max(0, silent)).findLast(({ name }) => name === 'invoke')?.attempt ?? 0;
}

function discardedHop(event: Event, attempt: number): TraceHop {
  return {
    name: 'wait_result',
    started_at: iso(event),
    duration_ms: 0,
    attempt,
    outcome: 'discarded',
    reason: 'a second result of an attempt, or that of one given up; it was given to nobody',
  };
}

/** An agent that accepted gave no sign for its `ack_timeout_ms`. */
function isSilence(event: Event, scheduled: ReadonlyMap<string, Event>): boolean {
  const id = event.activityTaskCompletedEventAttributes?.scheduledEventId;
  const at = id && scheduled.get(String(id));
  return Boolean(at && at.activityTaskScheduledEventAttributes?.activityType?.name === 'awaitSilence');
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

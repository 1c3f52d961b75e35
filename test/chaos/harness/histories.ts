import type { Client } from '@temporalio/client';
import type { ReachFailure, ReachInput, ReachOutput } from '../../../workflows/messages';
import { decodeFirst, type HistoryEvent } from '../../../src/telemetry/history';
import { eventsOf } from '../../../src/telemetry/events-from-history';
import type { AttemptRecord, ReachStatus } from '../../../src/protocol/shapes';
import type { RecordedAttempt, Run } from '../checker/facts';
import { markOf } from './agent-script';
import { eventually, inParallel } from './waiting';

const AT_ONCE = 16;
const VISIBLE_WITHIN_MS = 15_000;

/** Reads every run of every reach to these abilities, once those that must be there are visible. */
export async function readRuns(client: Client, abilities: readonly string[], known: readonly string[]): Promise<Run[]> {
  let found: { workflowId: string; runId: string }[] = [];
  const complete = async () => {
    found = await listRuns(client, abilities);
    const ids = new Set(found.map(({ workflowId }) => workflowId));
    return known.every((id) => ids.has(id));
  };
  await eventually(complete, { limitMs: VISIBLE_WITHIN_MS, everyMs: 300 });
  return inParallel(found, AT_ONCE, async ({ workflowId, runId }) => {
    const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    return runOf(events ?? [], { reachId: workflowId, runId });
  });
}

async function listRuns(client: Client, abilities: readonly string[]) {
  const names = abilities.map((ability) => `'${ability}'`).join(', ');
  const found: { workflowId: string; runId: string }[] = [];
  for await (const { workflowId, runId } of client.workflow.list({ query: `ReachAbility IN (${names})` })) {
    found.push({ workflowId, runId });
  }
  return found;
}

/** One run out of its history. */
export function runOf(events: readonly HistoryEvent[], { reachId, runId }: { reachId: string; runId: string }): Run {
  const [first] = events;
  const input = decodeFirst<ReachInput>(first?.workflowExecutionStartedEventAttributes?.input);
  const ending = events.flatMap((event) => eventsOf(event)).find(({ terminal }) => terminal);
  const last = events.at(-1);
  const output = decodeFirst<ReachOutput>(last?.workflowExecutionCompletedEventAttributes?.result);
  const failure = decodeFirst<ReachFailure>(
    last?.workflowExecutionFailedEventAttributes?.failure?.applicationFailureInfo?.details,
  );
  const idempotent = input?.routed.target.idempotent === true;
  return {
    reach_id: reachId,
    run_id: runId,
    key: input?.envelope.idempotency_key ?? '',
    fingerprint: input?.fingerprint ?? '',
    tag: input && input.envelope.payload_ref === undefined ? markOf(input.envelope.payload) : null,
    semantics: input?.envelope.delivery_semantics ?? 'at_least_once',
    idempotent,
    status: (ending?.event as ReachStatus | undefined) ?? 'running',
    code: failure?.problem.code ?? null,
    attempts_allowed: attemptsAllowed(input),
    attempts: (output ?? failure)?.attempts.map(attemptOf) ?? null,
    fence_bases: fenceBases(events),
    ...(idempotent && { first_task: firstTask(events) }),
    output_id: (output?.output.output_id as string | undefined) ?? null,
    degraded: output?.degraded_by !== undefined,
  };
}

/** As the descriptor and the semantics have it when the reach is accepted; what the caller allows the whole tree is a limit too. */
function attemptsAllowed(input: ReachInput | undefined): number {
  if (!input) return Number.POSITIVE_INFINITY;
  const { delivery_semantics, max_total_retries } = input.envelope;
  if (delivery_semantics === 'at_most_once') return 1;
  return 1 + Math.min(input.routed.target.max_retry, max_total_retries);
}

function attemptOf({ n, agent_name, received, code }: AttemptRecord): RecordedAttempt {
  return { n, agent: agent_name, received, code: code ?? null };
}

/**
 * A run begins, for the workflow, with its first task that was not lost: a reset replaces the task it resets to, and a
 * worker that dies in the first task leaves it to be done again, at a later time.
 */
function fenceBases(events: readonly HistoryEvent[]): string[] {
  const bases: string[] = [];
  for (const event of events) {
    if (event.workflowTaskFailedEventAttributes?.newRunId) bases.length = 0;
    if (event.workflowTaskCompletedEventAttributes) break;
    if (event.workflowTaskStartedEventAttributes) bases.push(baseAt(event));
  }
  return bases.length > 0 ? bases : ['no task was ever started'];
}

/** From the start, or the reset, to the last beginning of the first task that did more than ask for time. */
function firstTask(events: readonly HistoryEvent[]): { from: string; to: string } {
  let from = baseAt(events[0]!);
  let to = from;
  for (const [index, event] of events.entries()) {
    if (event.workflowTaskFailedEventAttributes?.newRunId) from = baseAt(event);
    if (event.workflowTaskStartedEventAttributes) to = baseAt(event);
    const asksForTime = Boolean(events[index + 1]?.workflowTaskScheduledEventAttributes);
    if (event.workflowTaskCompletedEventAttributes && !asksForTime) break;
  }
  return { from, to };
}

/** In whole milliseconds, as the SDK reads it: as a fraction, 999.9999 ms would be rounded up to the next second. */
function baseAt({ eventTime: time }: HistoryEvent): string {
  const ms = Number(time?.seconds ?? 0) * 1_000 + Math.floor((time?.nanos ?? 0) / 1e6);
  return `${ms}`.padStart(13, '0');
}

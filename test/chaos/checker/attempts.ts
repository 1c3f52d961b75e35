/** The account of attempts: what was recorded against what the agents saw. */
import type { JournalEntry, RecordedAttempt, Run, Violation } from './facts';
import { grouped, isOf, type Index } from './index-of';

/** Attempts that an agent saw and no run recorded, or that belong to no run at all. */
export function unrecordedAttempts({ recording, runsOf }: Index): Violation[] {
  return recording.journal.flatMap(({ reach_id, agent, attempt, fence }): Violation[] => {
    const run = runsOf(reach_id).find((each) => isOf({ fence }, each));
    if (run && (run.attempts === null || run.attempts.some(({ n }) => n === attempt))) return [];
    const where = run ? `run ${run.run_id} has ${count(run.attempts)}` : 'its fence belongs to no run';
    return [{ rule: 'attempt_not_recorded', reach_id, message: `${agent} saw attempt ${attempt}; ${where}` }];
  });
}

function count(attempts: RecordedAttempt[] | null): string {
  return attempts ? `attempts ${attempts.map(({ n }) => n).join(', ') || 'none'}` : 'no record';
}

/** Records that count an attempt twice, claim one that no agent saw, or deny work that was done. */
export function falseRecords({ recording, entriesOf }: Index): Violation[] {
  return recording.runs.flatMap((run) => {
    const entries = entriesOf(run);
    return (run.attempts ?? []).flatMap((attempt, index) => falseRecord(run, entries, { attempt, index }) ?? []);
  });
}

function falseRecord(
  { reach_id, attempts }: Run,
  entries: readonly JournalEntry[],
  { attempt: { n, received }, index }: { attempt: RecordedAttempt; index: number },
): Violation | null {
  if (attempts?.findIndex((other) => other.n === n) !== index) {
    return { rule: 'attempt_counted_twice', reach_id, message: `attempt ${n} is recorded twice` };
  }
  const seen = entries.filter(({ attempt }) => attempt === n);
  if (received === 'yes' && seen.length === 0) {
    return { rule: 'attempt_never_seen', reach_id, message: `attempt ${n} is said to be received; no agent saw it` };
  }
  if (received !== 'no' || !seen.some(({ worked }) => worked)) return null;
  return {
    rule: 'attempt_denied',
    reach_id,
    message: `attempt ${n} is said to be not received; the agent did the work`,
  };
}

/**
 * Requests that may not have been sent again: `at_most_once` is seen once a run at most (a redrive is a person's word);
 * of any other, each attempt is seen once, but for abilities that are declared idempotent, whose fast path may repeat one
 * without a trace when its worker is lost, and for what a queue gives out again because its agent was killed.
 */
export function forbiddenRepeats({ recording, entriesOf }: Index): Violation[] {
  return recording.runs.flatMap((run): Violation[] => {
    const { reach_id, semantics, idempotent } = run;
    const attempts = entriesOf(run).map(({ attempt }) => attempt);
    if (semantics === 'at_most_once' && attempts.length > 1) {
      return [{ rule: 'sent_again', reach_id, message: `at_most_once, and agents saw it ${attempts.length} times` }];
    }
    if (idempotent) return [];
    const again = repeatOf(entriesOf(run));
    return again === undefined
      ? []
      : [{ rule: 'sent_again', reach_id, message: `attempt ${again.attempt} was seen more than once` }];
  });
}

/** An entry whose attempt was seen before, by an agent that lived to answer it. */
function repeatOf(entries: readonly JournalEntry[]): JournalEntry | undefined {
  const inOrder = [...entries].sort((a, b) => a.arrived_ms - b.arrived_ms);
  const isUnacknowledged = ({ queued, left_ms }: JournalEntry) => queued === true && left_ms === null;
  return inOrder.find((entry, index) =>
    inOrder.slice(0, index).some((earlier) => earlier.attempt === entry.attempt && !isUnacknowledged(earlier)),
  );
}

/**
 * Agents that were called more often within a run than they may be (R26), or are said to have been. What a lost worker may have
 * sent, and no agent saw, is recorded as unknown however often workers are lost, and is no call.
 */
export function surplusAttempts({ recording, entriesOf }: Index): Violation[] {
  return recording.runs.flatMap((run): Violation[] => {
    const { reach_id, run_id, attempts_allowed: allowed } = run;
    // A repeat within an attempt is not counted: it has a rule of its own.
    const seen = new Set(entriesOf(run).map(({ agent, attempt }) => `${agent} ${attempt}`));
    const told = (run.attempts ?? []).filter(({ n, agent, received }) => {
      return received !== 'unknown' || seen.has(`${agent} ${n}`);
    });
    const calls = grouped([...seen], (call) => call.split(' ')[0]!);
    const records = grouped(told, ({ agent }) => agent);
    return [...new Set([...calls.keys(), ...records.keys()])].flatMap((agent): Violation[] => {
      const [called, recorded] = [calls.get(agent)?.length ?? 0, records.get(agent)?.length ?? 0];
      if (Math.max(called, recorded) <= allowed) return [];
      const message = `${agent} saw ${called} attempts of run ${run_id}, ${recorded} are recorded, allowed ${allowed}`;
      return [{ rule: 'too_many_attempts', reach_id, message }];
    });
  });
}

/** Within a run, a later attempt has a greater fence, and one attempt has one fence. */
export function disorderedFences({ recording, entriesOf }: Index): Violation[] {
  return recording.runs.flatMap((run): Violation[] => {
    const entries = [...entriesOf(run)].sort((a, b) => a.attempt - b.attempt);
    const wrong = entries.find((entry, index) => index > 0 && !follows(entries[index - 1]!, entry, run));
    if (!wrong) return [];
    const message = `attempt ${wrong.attempt} carried fence ${wrong.fence}, no greater than the attempt's before it`;
    return [{ rule: 'fence_order', reach_id: run.reach_id, message }];
  });
}

function follows(earlier: JournalEntry, later: JournalEntry, { idempotent }: Run): boolean {
  if (earlier.attempt !== later.attempt) return earlier.fence < later.fence;
  return idempotent ? earlier.fence <= later.fence : earlier.fence === later.fence;
}

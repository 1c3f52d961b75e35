/** What an agent may see at once: calls (R29), retries (R27), probes of an open breaker (R28). */
import type { AgentLimits, JournalEntry, Violation } from './facts';
import type { Index } from './index-of';

/** Agents that saw more at once than they may. */
export function exceededLimits({ recording }: Index): Violation[] {
  return recording.limits.flatMap((limits) => {
    const entries = recording.journal.filter(({ agent }) => agent === limits.agent);
    return [...permits(limits, entries), ...retries(limits, entries), ...probes(limits, entries)];
  });
}

function permits({ agent, permits: limit }: AgentLimits, entries: JournalEntry[]): Violation[] {
  if (limit === null) return [];
  const most = mostAtOnce(entries);
  if (most <= limit) return [];
  return [
    { rule: 'permits_exceeded', reach_id: null, message: `${agent} had ${most} calls at once, allowed ${limit}` },
  ];
}

function retries({ agent, retries: limit }: AgentLimits, entries: JournalEntry[]): Violation[] {
  const most = mostAtOnce(entries.filter(({ attempt }) => attempt > 1));
  if (most <= limit) return [];
  const message = `${agent} had ${most} retries at once, allowed ${limit}`;
  return [{ rule: 'retries_exceeded', reach_id: null, message }];
}

function probes({ agent, open_periods }: AgentLimits, entries: JournalEntry[]): Violation[] {
  return open_periods.flatMap(({ from_ms, to_ms }): Violation[] => {
    const most = mostAtOnce(entries.filter(({ arrived_ms }) => arrived_ms >= from_ms && arrived_ms < to_ms));
    if (most <= 1) return [];
    const message = `${agent} got ${most} calls at once while its breaker was open (${from_ms}–${to_ms})`;
    return [{ rule: 'probe_herd', reach_id: null, message }];
  });
}

/** What an entry lasts at least, ms: one whose end is not known (its agent was killed) counts at its arrival only. */
const LEAST_MS = 0.001;

/**
 * How long a busy agent may take to see that its caller has hung up, ms. The caller, who has an answer of his own making, may
 * have sent the next call before that.
 */
const HANGING_UP_MS = 100;

/** When a request was at an agent. */
export type Stay = Pick<JournalEntry, 'arrived_ms' | 'left_ms' | 'answer'>;

/** The greatest number of requests in flight at one moment. One that leaves when another arrives does not overlap it. */
export function mostAtOnce(stays: readonly Stay[]): number {
  const steps = stays.flatMap((stay) => [
    { at: stay.arrived_ms, change: 1 },
    { at: Math.max(leftMs(stay), stay.arrived_ms + LEAST_MS), change: -1 },
  ]);
  steps.sort((a, b) => a.at - b.at || a.change - b.change);
  let now = 0;
  let most = 0;
  for (const { change } of steps) {
    now += change;
    most = Math.max(most, now);
  }
  return most;
}

function leftMs({ left_ms, answer }: Stay): number {
  return (left_ms ?? 0) - (answer === 'none' ? HANGING_UP_MS : 0);
}

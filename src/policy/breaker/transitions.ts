/**
 * The state machine of a circuit breaker (R28) as pure functions: closed → bypass → open → half_open → recovering → closed.
 * Each answers the very same record when nothing changes.
 */
import type { BreakerState } from '../../protocol/reliability';
import { isProbeDue } from './admission';
import { NEVER_TRIPPED, type BreakerRecord, type BreakerRules, type Evidence, type TicketOutcome } from './record';

/** A second failure in a step shows that the agent has not recovered; a single one may be chance. */
const FAILURES_TO_REOPEN = 2;

/** Applies the end of a call. Outcomes of an earlier phase, late as they are, change nothing (case T08). */
export function afterOutcome(record: BreakerRecord, ended: TicketOutcome, rules: BreakerRules): BreakerRecord {
  if (ended.phase !== record.phase) return record;
  if (record.state === 'half_open' && ended.mark === 'probe') return afterProbe(record, ended.outcome, rules);
  if (ended.outcome === 'neutral') return record;
  const failed = ended.outcome === 'failure';
  if (record.state === 'bypass' && ended.mark === 'bypass') return afterBypassed(record, failed, rules);
  if (record.state === 'recovering' && ended.mark === 'recovery') return afterRecovery(record, failed, rules);
  return record;
}

/** Applies what the counted calls of a phase prove. Only closed and bypassed breakers are judged by them. */
export function afterEvidence(
  record: BreakerRecord,
  phase: string,
  { to, reason }: Evidence,
  rules: BreakerRules,
): BreakerRecord {
  const applies = record.state === 'closed' || (record.state === 'bypass' && to === 'open');
  return applies && phase === record.phase ? enter(record, to, reason, rules) : record;
}

/** Lets time pass: a step of recovery ends after its time where something succeeded and nothing failed. */
export function afterTime(record: BreakerRecord, elapsedMs: number, rules: BreakerRules): BreakerRecord {
  const over = record.state === 'recovering' && elapsedMs >= rules.settings.recoveryStepMs;
  return over && record.successes > 0 && record.failures === 0 ? nextStep(record, rules) : record;
}

/**
 * Takes the one probe. Null when none is due.
 *
 * @param claim elapsed time of the phase, and how long the probe may take before it counts as lost, ms
 */
export function claimProbe(
  record: BreakerRecord,
  { elapsedMs, limitMs }: { elapsedMs: number; limitMs: number },
  rules: BreakerRules,
): BreakerRecord | null {
  if (!isProbeDue(record, elapsedMs, rules.settings)) return null;
  return { ...enter(record, 'half_open', record.reason, rules), probeMs: limitMs };
}

function afterProbe(record: BreakerRecord, outcome: TicketOutcome['outcome'], rules: BreakerRules): BreakerRecord {
  if (outcome === 'ok') return enter(record, 'recovering', 'the probe was answered', rules);
  if (outcome === 'failure') return enter(record, 'open', 'the probe failed', rules);
  return { ...enter(record, 'open', record.reason, rules), probeDue: true };
}

/** In a row means: no failure of a marked call between, over all processes, in the order in which they are recorded. */
function afterBypassed(record: BreakerRecord, failed: boolean, rules: BreakerRules): BreakerRecord {
  if (failed) return record.successes === 0 ? record : { ...record, successes: 0 };
  const successes = record.successes + 1;
  if (successes < rules.settings.bypassSuccesses) return { ...record, successes };
  return enter(record, 'closed', `${successes} marked calls in a row succeeded`, rules);
}

function afterRecovery(record: BreakerRecord, failed: boolean, rules: BreakerRules): BreakerRecord {
  if (failed) {
    const failures = record.failures + 1;
    if (failures < FAILURES_TO_REOPEN) return { ...record, failures };
    return enter(record, 'open', `${failures} calls failed while it was recovering`, rules);
  }
  const successes = record.successes + 1;
  return successes < rules.settings.recoverySuccesses ? { ...record, successes } : nextStep(record, rules);
}

function nextStep(record: BreakerRecord, rules: BreakerRules): BreakerRecord {
  const step = record.step + 1;
  if (step >= rules.settings.recoverySteps.length) return enter(record, 'closed', 'it has recovered', rules);
  return { ...enter(record, 'recovering', record.reason, rules), step };
}

function enter(from: BreakerRecord, state: BreakerState, reason: string, rules: BreakerRules): BreakerRecord {
  const { phase, since } = rules.stamp();
  return { ...NEVER_TRIPPED, state, phase, since, reason, epoch: state === 'closed' ? phase : from.epoch };
}

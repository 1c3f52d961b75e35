import {
  afterEvidence,
  isErrorRateHigh,
  judgeLastCalls,
  judgeLatency,
  sumWindows,
  sustainedErrors,
  type BreakerRecord,
  type BreakerRules,
  type Evidence,
} from '../../policy/breaker';
import type { BreakerKey } from '../../protocol/reliability';
import type { Clock } from '../clock';
import type { BreakerStates } from './breaker-states';
import type { OwnWindow, SharedWindows } from './shared-windows';

export interface BreakerJudgeOptions {
  states: BreakerStates;
  windows: SharedWindows;
  rules: BreakerRules;
  clock: Clock;
}

/** Trips breakers by what all processes counted. Each process judges; the compare-and-set lets one verdict through. */
export class BreakerJudge {
  constructor(private readonly options: BreakerJudgeOptions) {}

  /** Looks at the last calls. To be called when one failed, here or elsewhere. */
  lastCalls(key: BreakerKey): void {
    const { states, windows, rules } = this.options;
    const record = states.record(key);
    if (record.state !== 'closed') return;
    this.prove(key, record, judgeLastCalls(windows.digests(key, record.epoch), rules.settings));
  }

  /** Looks at the rates of every ability that had a failure lately. To be called about once a second. */
  rates(): void {
    for (const [key, own] of this.options.windows.suspicious()) this.ratesOf(key, own);
  }

  private ratesOf(key: BreakerKey, own: OwnWindow): void {
    const { states, windows, rules, clock } = this.options;
    const { settings } = rules;
    const record = states.record(key);
    if (own.epoch !== record.epoch || (record.state !== 'closed' && record.state !== 'bypass')) return;
    const sums = sumWindows(windows.digests(key, record.epoch), settings);
    const nowMs = clock.monotonicMs();
    own.highSinceMs = isErrorRateHigh(sums, settings) ? (own.highSinceMs ?? nowMs) : null;
    const isSustained = own.highSinceMs !== null && nowMs - own.highSinceMs >= settings.sustainedMs;
    this.prove(key, record, isSustained ? sustainedErrors(sums, settings) : judgeLatency(sums, settings));
  }

  private prove(key: BreakerKey, { phase }: BreakerRecord, evidence: Evidence | null): void {
    if (evidence === null) return;
    const { states, rules } = this.options;
    states.ensure(key).post((record) => afterEvidence(record, phase, evidence, rules));
  }
}

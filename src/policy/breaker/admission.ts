import type { AdmissionMark } from '../../protocol/reliability';
import type { BreakerRecord } from './record';
import type { BreakerSettings } from './settings';

/** What passes a breaker now. */
export interface Admission {
  /** Share of new calls that pass, 0–1. With a probe due it is 1: whoever claims it passes, the others are refused. */
  share: number;
  /** Mark of what passes; null for a closed breaker alone. */
  mark: AdmissionMark | null;
  /** When asking again makes sense, ms. */
  retryAfterMs: number;
}

/** Whether the one probe may be taken: the interval is over, the last probe told nothing, or it was lost with its process. */
export function isProbeDue(record: BreakerRecord, elapsedMs: number, settings: BreakerSettings): boolean {
  return probeWaitMs(record, elapsedMs, settings) === 0;
}

/** How long this process has seen the phase, and how long ago it let the last marked call pass, monotonic ms. */
export interface Elapsed {
  phaseMs: number;
  markedMs: number;
}

/**
 * What passes. A share of little traffic would be next to nothing, and the breaker of a recovered agent would stay for
 * hours: one call passes as often as a probe would.
 */
export function admissionOf(record: BreakerRecord, elapsed: Elapsed, settings: BreakerSettings): Admission {
  const { probeIntervalMs } = settings;
  const shared = (share: number) => (elapsed.markedMs >= probeIntervalMs ? 1 : share);
  switch (record.state) {
    case 'closed':
      return { share: 1, mark: null, retryAfterMs: 0 };
    case 'bypass':
      return { share: shared(settings.bypassShare), mark: 'bypass', retryAfterMs: probeIntervalMs };
    case 'recovering':
      return { share: shared(stepShare(record, settings)), mark: 'recovery', retryAfterMs: probeIntervalMs };
    default: {
      const waitMs = probeWaitMs(record, elapsed.phaseMs, settings);
      return {
        share: waitMs === 0 ? 1 : 0,
        mark: 'probe',
        retryAfterMs: Math.ceil(Math.min(waitMs, settings.probeIntervalMs)),
      };
    }
  }
}

/** A record of another process may have more steps than are configured here; the last one stands for them. */
function stepShare({ step }: BreakerRecord, { recoverySteps }: BreakerSettings): number {
  return recoverySteps[Math.min(step, recoverySteps.length - 1)] ?? 1;
}

function probeWaitMs(record: BreakerRecord, elapsedMs: number, settings: BreakerSettings): number {
  if (record.state === 'half_open') return Math.max(0, record.probeMs - elapsedMs);
  if (record.state !== 'open') return Infinity;
  return record.probeDue ? 0 : Math.max(0, settings.probeIntervalMs - elapsedMs);
}

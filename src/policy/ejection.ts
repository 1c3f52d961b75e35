/**
 * Outlier detection: an instance that fails again and again is left alone for a while, though never so many at once
 * that the rest drowns (R14, R28). Pure; the rules are Envoy's, with its arithmetic on small sets mended.
 */

/** `ejection` of the configuration. */
export interface EjectionSettings {
  /** Failures in a row that eject an instance. */
  consecutiveFailures: number;
  /** The first ejection lasts this long, ms; the n-th in succession n times as long. */
  baseMs: number;
  /** No ejection lasts longer, ms. */
  maxMs: number;
  /** Of the instances of a version, at most so many per cent are out at once; 0 switches ejection off. */
  maxPercent: number;
}

/** How many instances of `count` may be out at once, counting the one about to go: 2 of 3 at 67 %, 0 of 1 at 50 %. */
export function maxEjected(count: number, maxPercent: number): number {
  return Math.floor((count * maxPercent) / 100);
}

/** How long the `times`-th ejection in succession lasts, ms. */
export function ejectionMs(times: number, { baseMs, maxMs }: EjectionSettings): number {
  return Math.min(maxMs, baseMs * times);
}

/** What is left of a count of ejections after `healthyMs` without one: one less for each `baseMs`. */
export function timesAfter(times: number, healthyMs: number, { baseMs }: EjectionSettings): number {
  return Math.max(0, times - Math.floor(Math.max(0, healthyMs) / baseMs));
}

/** Failures remembered at most; instances that vanished while failing are forgotten, oldest first. */
const MAX_STREAKS = 10_000;

/** Counts failures in a row. What does not fail takes no room. */
export class FailureStreaks {
  private readonly streaks = new Map<string, number>();

  /** Counts one outcome; a first attempt and one made as a fallback count alike. Answers the failures in a row. */
  note(key: string, failed: boolean): number {
    const streak = failed ? (this.streaks.get(key) ?? 0) + 1 : 0;
    this.streaks.delete(key);
    if (!failed) return 0;
    if (this.streaks.size >= MAX_STREAKS)
      for (const oldest of this.streaks.keys()) if (this.streaks.delete(oldest)) break;
    this.streaks.set(key, streak);
    return streak;
  }

  forget(key: string): void {
    this.streaks.delete(key);
  }
}

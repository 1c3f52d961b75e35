/** Two clocks, injected so that tests can own them: elapsed time is monotonic, stamps for people are not. */
export interface Clock {
  /** Monotonic milliseconds; only differences mean anything. */
  monotonicMs(): number;
  /** Wall clock, for timestamps that people read and for ordering events of different processes. */
  wall(): Date;
}

/** The process's own clocks. */
export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  wall: () => new Date(),
};

/** One moment by both clocks of a process. */
export interface Moment {
  /** Monotonic. */
  nowMs: number;
  /** Unix seconds. */
  wallSec: number;
}

/** Reads both clocks. */
export function momentOf(clock: Clock): Moment {
  return { nowMs: clock.monotonicMs(), wallSec: clock.wall().getTime() / 1_000 };
}

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

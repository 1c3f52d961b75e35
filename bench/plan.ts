/** How much is measured. Everything that follows from the command line is here. */
export interface Plan {
  quick: boolean;
  /**
   * Times that the three contenders take turns, for the unpaced and for the paced load; every other time in reverse order, as the
   * server gets slower with what it keeps.
   */
  rounds: number;
  warmUpRequests: number;
  /** One after the other, per contender and round. */
  latencyRequests: number;
  /** `concurrency` at a time, per contender and round. */
  throughputRequests: number;
  concurrency: number;
  /** With think time, per contender and round. */
  pacedRequests: number;
  /** Think time between two requests of the paced load, uniformly random, ms. */
  thinkMs: { from: number; to: number };
  /** How long the gateway is left alone before its memory is read, ms. */
  idleMs: number;
  /** Seed of the think times, the same for all contenders. */
  seed: number;
}

const FULL: Plan = {
  quick: false,
  rounds: 6,
  warmUpRequests: 100,
  latencyRequests: 100,
  throughputRequests: 100,
  concurrency: 20,
  pacedRequests: 20,
  thinkMs: { from: 60, to: 160 },
  idleMs: 10_000,
  seed: 20_240_601,
};

const QUICK: Plan = {
  ...FULL,
  quick: true,
  rounds: 1,
  warmUpRequests: 40,
  latencyRequests: 60,
  throughputRequests: 100,
  pacedRequests: 20,
  idleMs: 3_000,
};

/** The plan of a full run (some four minutes on two cores), or of a short one, which shows that all works. */
export function planOf({ quick }: { quick: boolean }): Plan {
  return quick ? QUICK : FULL;
}

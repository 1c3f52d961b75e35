/** What is counted of one agent's origin. */
export interface OriginTally {
  origin: string;
  requests: number;
  /** New connections. */
  connections: number;
  /** Connects that failed. */
  failures: number;
}

/** More origins than agents can have; those beyond are not told apart. */
const MAX_ORIGINS = 1_000;
const OTHERS = 'others';

/** Counts requests, connects and failed connects of this process by origin, so that whoever closes connections shows (R39). */
export class ConnectionLedger {
  private readonly tallies = new Map<string, OriginTally>();
  private readonly sinceMs = performance.now();

  requested(origin: string): void {
    this.tally(origin).requests += 1;
  }

  connected(origin: string): void {
    this.tally(origin).connections += 1;
  }

  failed(origin: string): void {
    this.tally(origin).failures += 1;
  }

  /** All origins, and for how long they were counted. */
  counts(): { origins: OriginTally[]; forMs: number } {
    return {
      origins: [...this.tallies.values()].map((tally) => ({ ...tally })),
      forMs: performance.now() - this.sinceMs,
    };
  }

  private tally(origin: string): OriginTally {
    const known = this.tallies.get(origin) ?? this.tallies.get(this.tallies.size >= MAX_ORIGINS ? OTHERS : origin);
    if (known) return known;
    const name = this.tallies.size >= MAX_ORIGINS ? OTHERS : origin;
    const tally = { origin: name, requests: 0, connections: 0, failures: 0 };
    this.tallies.set(name, tally);
    return tally;
  }
}

/** R18: the failure rate is that of the last 1000 requests. */
export const OUTCOME_WINDOW = 1_000;
/** Processes tell each other counts of this many requests; merging is exact to within one block. */
const BLOCK = 50;
/** Outcomes are kept in one number each: the second they ended, and whether they failed. */
const FIRST_CAPACITY = 64;

/** Counts of consecutive requests: when the newest of them ended (Unix seconds), how many, how many failed. */
export type OutcomeBlock = [endedSec: number, requests: number, failures: number];

/** The last {@link OUTCOME_WINDOW} outcomes of one process. */
export class OutcomeWindow {
  private ring = new Float64Array(FIRST_CAPACITY);
  private next = 0;
  private length = 0;

  /** @param endedSec wall clock, Unix seconds: it only orders the outcomes of several processes */
  add(failed: boolean, endedSec: number): void {
    if (this.length === this.ring.length && this.length < OUTCOME_WINDOW) this.grow();
    this.ring[this.next] = Math.max(0, Math.floor(endedSec)) * 2 + (failed ? 1 : 0);
    this.next = (this.next + 1) % this.ring.length;
    this.length = Math.min(this.length + 1, this.ring.length);
  }

  get total(): number {
    return this.length;
  }

  /** Newest first, all full but the oldest. */
  blocks(): OutcomeBlock[] {
    const blocks: OutcomeBlock[] = [];
    for (let age = 0; age < this.length; age++) {
      const outcome = this.ring[(this.next - 1 - age + 2 * this.ring.length) % this.ring.length]!;
      if (age % BLOCK === 0) blocks.push([Math.floor(outcome / 2), 0, 0]);
      const block = blocks.at(-1)!;
      block[1] += 1;
      block[2] += outcome % 2;
    }
    return blocks;
  }

  private grow(): void {
    const ring = new Float64Array(Math.min(OUTCOME_WINDOW, this.ring.length * 2));
    for (let at = 0; at < this.length; at++) ring[at] = this.ring[(this.next + at) % this.ring.length]!;
    this.ring = ring;
    this.next = this.length;
  }
}

/**
 * The newest {@link OUTCOME_WINDOW} requests of several processes: whole blocks, newest first, and of the last one
 * as large a share as there is room for. Exact for one process.
 */
export function mergeOutcomes(processes: readonly (readonly OutcomeBlock[])[]): { requests: number; failures: number } {
  const blocks = processes.flat().sort(([a], [b]) => b - a);
  let requests = 0;
  let failures = 0;
  for (const [, blockRequests, blockFailures] of blocks) {
    const taken = Math.min(blockRequests, OUTCOME_WINDOW - requests);
    requests += taken;
    failures += taken === blockRequests ? blockFailures : Math.round((blockFailures * taken) / blockRequests);
    if (requests === OUTCOME_WINDOW) break;
  }
  return { requests, failures };
}

import { remaining, type Weighed } from './forgetting';

/** R18: the failure rate is that of the last 1000 requests. */
export const OUTCOME_WINDOW = 1_000;
/** Processes tell each other counts of this many requests; merging is exact to within one block. */
const BLOCK = 50;
const FIRST_CAPACITY = 64;

/** Outcomes older than so many half-lives weigh less than a thousandth together and are not looked at. */
const FORGOTTEN_AFTER_HALF_LIVES = 20;

/** Counts of consecutive requests: when the newest of them ended (Unix seconds), how many, how many failed. */
export type OutcomeBlock = [endedSec: number, requests: number, failures: number];

/** The last {@link OUTCOME_WINDOW} outcomes of one process: a ring that grows to that size. */
export class OutcomeWindow {
  private failed = new Uint8Array(FIRST_CAPACITY);
  private endedSec = new Uint32Array(FIRST_CAPACITY);
  /** Monotonic seconds: how old they are, whatever happens to the wall clock. */
  private ranSec = new Uint32Array(FIRST_CAPACITY);
  private next = 0;
  private length = 0;

  /**
   * @param endedSec wall clock, Unix seconds: it only orders the outcomes of several processes
   * @param nowMs monotonic
   */
  add(failed: boolean, endedSec: number, nowMs: number): void {
    if (this.length === this.failed.length && this.length < OUTCOME_WINDOW) this.grow();
    this.failed[this.next] = failed ? 1 : 0;
    this.endedSec[this.next] = endedSec;
    this.ranSec[this.next] = Math.floor(nowMs / 1_000);
    this.next = (this.next + 1) % this.failed.length;
    this.length = Math.min(this.length + 1, this.failed.length);
  }

  get total(): number {
    return this.length;
  }

  /** Newest first, all full but the oldest. */
  blocks(): OutcomeBlock[] {
    const blocks: OutcomeBlock[] = [];
    let at = this.next;
    for (let left = this.length; left > 0; left -= BLOCK) {
      const requests = Math.min(BLOCK, left);
      const endedSec = this.endedSec[this.before(at)]!;
      let failures = 0;
      for (let n = 0; n < requests; n++) {
        at = this.before(at);
        failures += this.failed[at]!;
      }
      blocks.push([endedSec, requests, failures]);
    }
    return blocks;
  }

  /** What the outcomes weigh now, each by its age. */
  weigh(nowMs: number, halfLifeMs: number): Weighed {
    const weighed = { requests: 0, failures: 0 };
    const nowSec = Math.floor(nowMs / 1_000);
    let lastSec = -1;
    let weight = 1;
    for (let left = this.length, at = this.next; left > 0; left--) {
      at = this.before(at);
      const sec = this.ranSec[at]!;
      const ageMs = (nowSec - sec) * 1_000;
      if (ageMs > FORGOTTEN_AFTER_HALF_LIVES * halfLifeMs) break;
      if (sec !== lastSec) weight = remaining(ageMs, halfLifeMs); // most share their second with the one before
      lastSec = sec;
      weighed.requests += weight;
      weighed.failures += weight * this.failed[at]!;
    }
    return weighed;
  }

  private before(at: number): number {
    return at === 0 ? this.failed.length - 1 : at - 1;
  }

  /** Only ever full, with the oldest outcome at `next`. */
  private grow(): void {
    const capacity = Math.min(OUTCOME_WINDOW, this.failed.length * 2);
    this.failed = this.unrolled(this.failed, new Uint8Array(capacity));
    this.endedSec = this.unrolled(this.endedSec, new Uint32Array(capacity));
    this.ranSec = this.unrolled(this.ranSec, new Uint32Array(capacity));
    this.next = this.length;
  }

  private unrolled<Ring extends Uint8Array | Uint32Array>(ring: Ring, into: Ring): Ring {
    into.set(ring.subarray(this.next));
    into.set(ring.subarray(0, this.next), this.length - this.next);
    return into;
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

import { DurationCounts, type DurationDigest } from './duration-counts';

/** Arrivals are counted by slots of this length, seconds: Unix time, so that processes agree on them. */
export const SLOT_SEC = 10;
/** Slots of "now": the last five minutes. */
export const RECENT_SLOTS = 30;
/** The hour before that is kept in blocks of as many slots. */
export const EARLIER_BLOCKS = 12;

/** What one slot saw: its number (Unix seconds / 10), arrivals, calls begun. */
export type SlotDigest = [slot: number, arrivals: number, calls: number];

/** One block of the hour before; `block` is its slots' number over {@link RECENT_SLOTS}. */
export interface BlockDigest {
  block: number;
  arrivals: number;
  calls: number;
  service: DurationDigest;
}

interface Slot {
  slot: number;
  arrivals: number;
  calls: number;
  service: DurationCounts;
}

interface Block {
  block: number;
  arrivals: number;
  calls: number;
  service: DurationCounts;
}

/** What this process saw asked of one ability: the last five minutes by slots, the hour before by blocks. */
export class DemandWindows {
  private recent: Slot[] = [];
  private earlier: Block[] = [];
  /** Grows with everything that changes what others should know, and when blocks do. */
  version = 0;
  earlierVersion = 0;

  arrived(nowSec: number): void {
    this.at(nowSec).arrivals += 1;
  }

  called(nowSec: number): void {
    this.at(nowSec).calls += 1;
  }

  served(durationMs: number, nowSec: number): void {
    this.at(nowSec).service.add(durationMs);
  }

  /** Moves what is older than five minutes to the blocks, and forgets those over an hour older. */
  advance(nowSec: number): void {
    const current = Math.floor(nowSec / SLOT_SEC);
    const aged = this.recent.filter(({ slot }) => slot <= current - RECENT_SLOTS);
    if (aged.length > 0) {
      this.recent = this.recent.filter(({ slot }) => slot > current - RECENT_SLOTS);
      for (const slot of aged) this.toBlock(slot);
      this.version += 1;
      this.earlierVersion += 1;
    }
    const oldest = Math.floor(current / RECENT_SLOTS) - EARLIER_BLOCKS - 1;
    if (this.earlier.some(({ block }) => block < oldest)) {
      this.earlier = this.earlier.filter(({ block }) => block >= oldest);
      this.earlierVersion += 1;
    }
  }

  get isEmpty(): boolean {
    return this.recent.length === 0 && this.earlier.length === 0;
  }

  recentDigest(): { slots: SlotDigest[]; service: DurationDigest } {
    const service = new DurationCounts();
    for (const slot of this.recent) service.merge(slot.service.digest());
    return {
      slots: this.recent.map(({ slot, arrivals, calls }) => [slot, arrivals, calls]),
      service: service.digest(),
    };
  }

  earlierDigest(): BlockDigest[] {
    return this.earlier.map(({ service, ...counts }) => ({ ...counts, service: service.digest() }));
  }

  /** A clock that was set back counts on in the slot it had reached. */
  private at(nowSec: number): Slot {
    this.version += 1;
    this.advance(nowSec);
    const wanted = Math.floor(nowSec / SLOT_SEC);
    const last = this.recent.at(-1);
    if (last && last.slot >= wanted) return last;
    const slot = { slot: wanted, arrivals: 0, calls: 0, service: new DurationCounts() };
    this.recent.push(slot);
    return slot;
  }

  private toBlock({ slot, arrivals, calls, service }: Slot): void {
    const number = Math.floor(slot / RECENT_SLOTS);
    let block = this.earlier.find((one) => one.block === number);
    if (!block) {
      block = { block: number, arrivals: 0, calls: 0, service: new DurationCounts() };
      this.earlier.push(block);
    }
    block.arrivals += arrivals;
    block.calls += calls;
    block.service.merge(service.digest());
  }
}

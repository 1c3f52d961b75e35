import { z } from 'zod';
import { deleteOp, putOp } from '../etcd/etcd-ops';
import type { ICompare, IRequestOp } from 'etcd3';

/** A retry permit given out by this process. */
export interface OwnSlot {
  holder: string;
  /** Monotonic ms at which its lease has ended. */
  untilMs: number;
  /** False when it was given while etcd was away, and etcd knows nothing of it yet. */
  isShared: boolean;
}

/** What is known of the slots of one agent. No I/O. */
export class SlotBook {
  /** As mirrored from etcd: holder by slot. */
  readonly shared = new Map<number, string>();
  readonly own = new Map<number, OwnSlot>();
  /** Slots that are being asked for. */
  readonly claiming = new Map<number, string>();
  /** Slots that were given back and that etcd, as far as known, still holds for this holder. */
  readonly owed = new Map<number, string>();

  constructor(private readonly limit: number) {}

  get isEmpty(): boolean {
    return this.shared.size + this.own.size + this.claiming.size + this.owed.size === 0;
  }

  /** The slot that a holder has or is about to get. */
  slotOf(holder: string): number | null {
    for (const [slot, own] of this.own) if (own.holder === holder) return slot;
    for (const [slot, other] of this.shared) if (other === holder) return slot;
    return null;
  }

  /** Notes that a holder got a slot. */
  give(slot: number, own: OwnSlot): void {
    this.own.set(slot, own);
    if (this.owed.get(slot) === own.holder) this.owed.delete(slot);
  }

  /** Notes that a holder needs its slot no more. */
  giveBack(slot: number, holder: string): void {
    const own = this.own.get(slot);
    const isOwn = own?.holder === holder;
    if (isOwn) this.own.delete(slot);
    if ((isOwn && own.isShared) || this.shared.get(slot) === holder) this.owed.set(slot, holder);
  }

  /** Notes who has a slot in etcd; null: nobody. */
  see(slot: number, holder: string | null): void {
    if (holder === null) this.shared.delete(slot);
    else this.shared.set(slot, holder);
    const own = this.own.get(slot);
    if (own?.isShared === true && own.holder !== holder) this.own.delete(slot);
    if (this.owed.get(slot) !== holder) this.owed.delete(slot);
  }

  /** Forgets own slots whose leases have ended. */
  expire(nowMs: number): void {
    for (const [slot, { untilMs }] of this.own) if (untilMs <= nowMs) this.own.delete(slot);
  }

  /** Permits outstanding as far as known. Two may sit on one number when one was given while etcd was away. */
  outstanding(): number {
    const doubled = [...this.own].filter(([slot, own]) => this.isTakenByOther(slot, own)).length;
    return new Set([...this.shared.keys(), ...this.own.keys(), ...this.claiming.keys()]).size + doubled;
  }

  /** Free slots as far as known, none when the limit is reached. */
  free(): number[] {
    if (this.outstanding() >= this.limit) return [];
    return this.numbers((slot) => !this.shared.has(slot) && !this.own.has(slot) && !this.claiming.has(slot));
  }

  /** Slots this process has not given out, those that nobody else had when last seen first: while etcd is away. */
  ungiven(): number[] {
    const open = this.numbers((slot) => !this.own.has(slot) && !this.claiming.has(slot));
    return open.sort((a, b) => Number(this.shared.has(a)) - Number(this.shared.has(b)));
  }

  isTakenByOther(slot: number, own: OwnSlot): boolean {
    const holder = this.shared.get(slot);
    return !own.isShared && holder !== undefined && holder !== own.holder;
  }

  private numbers(fits: (slot: number) => boolean): number[] {
    return Array.from({ length: this.limit }, (_, slot) => slot).filter(fits);
  }
}

const slotSchema = z.object({ v: z.literal(1), holder: z.string() });

/** The value of a slot's key. Compared byte by byte, so it holds nothing but the holder. */
export function encodeSlot(holder: string): string {
  return JSON.stringify({ v: 1, holder });
}

/** The holder that a slot's value names; null when it cannot be read. */
export function decodeSlot(value: Buffer): string | null {
  try {
    return slotSchema.parse(JSON.parse(value.toString())).holder;
  } catch {
    return null;
  }
}

/** Holds while a slot is this holder's. */
export function heldBy(key: string, holder: string): ICompare {
  return { key: Buffer.from(key), target: 'Value', result: 'Equal', value: Buffer.from(encodeSlot(holder)) };
}

/** Writes a slot under a new lease; the answer tells the lease it had before. */
export function takeSlotOp(key: string, holder: string, lease: string): IRequestOp {
  return { request_put: { ...putOp(key, encodeSlot(holder), lease).request_put, prev_kv: true } };
}

/** Frees a slot; the answer tells its lease. */
export function freeSlotOp(key: string): IRequestOp {
  return { request_delete_range: { ...deleteOp(key).request_delete_range, prev_kv: true } };
}

/** Refusals older than this say nothing about who is waiting now. */
const MEMORY_MS = 60_000;
/** Beyond this many the estimate only errs on the low side, and the delays are at their longest anyway. */
const MAX_REMEMBERED = 100_000;

/**
 * Who was turned away within the last minute and not admitted since. Callers with a name count once however often
 * they ask; without one each refusal counts, and each admission is taken for that of the one who waits longest.
 */
export class TurnedAway {
  /** When each was last refused, oldest first. */
  private readonly named = new Map<string, number>();
  private readonly unnamed = new Map<number, number>();
  private sequence = 0;

  constructor(private readonly monotonicMs: () => number) {}

  refused(caller: string | undefined): void {
    const nowMs = this.monotonicMs();
    if (caller === undefined) return remember(this.unnamed, this.sequence++, nowMs);
    this.named.delete(caller);
    remember(this.named, caller, nowMs);
  }

  admitted(caller: string | undefined): void {
    if (caller !== undefined) this.named.delete(caller);
    else for (const oldest of this.unnamed.keys()) return void this.unnamed.delete(oldest);
  }

  has(caller: string): boolean {
    return this.named.has(caller);
  }

  get count(): number {
    const limitMs = this.monotonicMs() - MEMORY_MS;
    forgetUntil(this.named, limitMs);
    forgetUntil(this.unnamed, limitMs);
    return this.named.size + this.unnamed.size;
  }
}

function remember<Key>(refusals: Map<Key, number>, key: Key, nowMs: number): void {
  if (refusals.size >= MAX_REMEMBERED) for (const oldest of refusals.keys()) if (refusals.delete(oldest)) break;
  refusals.set(key, nowMs);
}

function forgetUntil<Key>(refusals: Map<Key, number>, limitMs: number): void {
  for (const [key, refusedMs] of refusals) {
    if (refusedMs > limitMs) return;
    refusals.delete(key);
  }
}

/** A worker counts itself only when it has been visible for this long: the others have made room by then, ms. */
const JOIN_MS = 1_000;
/** A worker that vanished is counted for this long more, ms: when all vanish, none must take the others' shares. */
const LEAVE_MS = 1_000;
/** After its own key was gone a worker waits this long for the others to be back too before it counts anew, ms. */
const RETURN_MS = 3_000;
/** Of each limit, what a worker may use that etcd has no space to announce: little, since the others do not know of it. */
const UNANNOUNCED_SHARE = 1;
/** How long the last census stands when this worker's own key is gone though etcd answers, ms. */
const REJOIN_MS = 5_000;

/**
 * Whom the workers count, from what each sees of the keys. No I/O. Joining is seen by the others before it counts for
 * the joiner, leaving counts late, so that the parts never sum to more than the limit while etcd answers.
 *
 * A worker that lost its own key has most likely lost it with all others (etcd was away for longer than the leases):
 * then everybody keeps the last census until all have announced themselves again.
 */
export class Membership {
  private readonly present = new Set<string>();
  /** When those that are gone but still counted were last seen. */
  private readonly leaving = new Map<string, number>();
  private counted: readonly string[] = [];
  /** When the own key appeared, and when it vanished; null while it is there. */
  private ownSinceMs: number | null = null;
  private ownLostMs: number | null = null;
  private hasJoined = false;
  private hasNoSpace = false;

  constructor(
    private readonly ownId: string,
    private readonly monotonicMs: () => number,
  ) {}

  isPresent(id: string): boolean {
    return this.present.has(id);
  }

  /** One key appeared or vanished. Call {@link settle} afterwards. */
  see(id: string, isThere: boolean): void {
    const nowMs = this.monotonicMs();
    if (isThere === this.present.has(id)) return;
    if (isThere) {
      this.present.add(id);
      this.leaving.delete(id);
    } else {
      this.present.delete(id);
      this.leaving.set(id, nowMs);
    }
    if (id !== this.ownId) return;
    this.ownSinceMs = isThere ? nowMs : null;
    this.ownLostMs = isThere ? null : nowMs;
  }

  /** Call once after the first listing, when the own key has been announced: alone, there is nobody to wait for. */
  begin(): void {
    if (this.present.size === 1 && this.isPresent(this.ownId)) this.hasJoined = true;
    this.settle(true);
  }

  /**
   * Whether etcd refuses the own key for want of space. Answers whether shares may differ from before. Until it is announced a
   * worker may then make one call where it could make none: the parts sum to more than the limit by one for each such worker,
   * but a platform that is restarted meanwhile goes on.
   */
  noSpace(hasNoSpace: boolean): boolean {
    const isOther = this.hasNoSpace !== hasNoSpace;
    this.hasNoSpace = hasNoSpace;
    return isOther;
  }

  /** Counts again. Answers whether shares differ from before. */
  settle(isConnected: boolean): boolean {
    const nowMs = this.monotonicMs();
    const [before, hadJoined] = [this.counted, this.hasJoined];
    if (!isConnected && this.ownLostMs !== null) this.ownLostMs = nowMs;
    const isVisible = this.ownSinceMs !== null && nowMs - this.ownSinceMs >= (hadJoined ? RETURN_MS : JOIN_MS);
    if (isVisible) this.hasJoined = true;
    if (this.ownLostMs !== null && nowMs - this.ownLostMs >= REJOIN_MS) this.hasJoined = false;
    if (isVisible || !this.hasJoined) this.letGo(nowMs);
    this.counted = [...new Set([...this.present, ...this.leaving.keys()])].sort();
    return this.hasJoined !== hadJoined || this.counted.join() !== before.join();
  }

  get count(): number {
    return this.counted.length;
  }

  /** What is left over after equal parts goes to the first by id, counted from a place that `key` decides. */
  share(limit: number, key?: string): number {
    const [own, count] = [this.counted.indexOf(this.ownId), this.counted.length];
    if (!this.hasJoined || own < 0) return this.hasNoSpace ? Math.min(UNANNOUNCED_SHARE, limit) : 0;
    const position = key === undefined ? own : (own + (hash(key) % count)) % count;
    return Math.floor(limit / count) + (position < limit % count ? 1 : 0);
  }

  private letGo(nowMs: number): void {
    for (const [id, goneMs] of this.leaving) if (nowMs - goneMs >= LEAVE_MS) this.leaving.delete(id);
  }
}

/** FNV-1a, 32 bits: the same in every process. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  return value >>> 0;
}

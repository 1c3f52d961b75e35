/**
 * A call on the fast path holds the slot of its workflow task until the agent answers. One agent that hangs must not hold
 * them all: beyond its part the regular way is taken, whose calls hold none.
 */
export class FastLane {
  private readonly inUse = new Map<string, number>();

  /** @param perAgent calls of one agent that this worker makes on the fast path at once */
  constructor(private readonly perAgent: number) {}

  /** Runs a call there; null when the agent has its part already. */
  async take<T>(agentName: string, call: () => Promise<T>): Promise<T | null> {
    const others = this.inUse.get(agentName) ?? 0;
    if (others >= this.perAgent) return null;
    this.inUse.set(agentName, others + 1);
    try {
      return await call();
    } finally {
      this.leave(agentName);
    }
  }

  private leave(agentName: string): void {
    const left = (this.inUse.get(agentName) ?? 1) - 1;
    if (left > 0) this.inUse.set(agentName, left);
    else this.inUse.delete(agentName);
  }
}

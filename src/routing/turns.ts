/** Whose turn it is, by ability. Lives in one process: fair within it, good enough across several. */
export class Turns {
  private readonly counts = new Map<string, number>();

  /** How many turns have been taken. */
  current(ability: string): number {
    return this.counts.get(ability) ?? 0;
  }

  advance(ability: string): void {
    this.counts.set(ability, (this.current(ability) + 1) % Number.MAX_SAFE_INTEGER);
  }
}

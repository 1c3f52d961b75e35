/** What has been started so far, stopped in the opposite order, whatever fails on the way. */
export class Closers {
  private readonly steps: (() => Promise<unknown>)[] = [];

  add(close: () => Promise<unknown>): void {
    this.steps.push(close);
  }

  async close(): Promise<void> {
    for (const step of this.steps.splice(0).reverse()) await step().catch(() => undefined);
  }
}

/**
 * Memory for what is being read: contents that wait for the one thread that reads them would fill it, however fast it is.
 * First come, first served, so that a large one is not overtaken for ever by small ones.
 */
export class ByteBudget {
  private freeBytes: number;
  private readonly waiting: { bytes: number; enter: () => void }[] = [];

  constructor(private readonly totalBytes: number) {
    this.freeBytes = totalBytes;
  }

  /** Runs `run` as soon as there is room for `bytes`, and keeps them taken until it has ended. More than all counts as all. */
  async hold<T>(bytes: number, run: () => Promise<T>): Promise<T> {
    const taken = Math.min(bytes, this.totalBytes);
    if (this.waiting.length > 0 || taken > this.freeBytes)
      await new Promise<void>((enter) => this.waiting.push({ bytes: taken, enter }));
    else this.freeBytes -= taken;
    try {
      return await run();
    } finally {
      this.freeBytes += taken;
      this.letIn();
    }
  }

  private letIn(): void {
    for (let next = this.waiting[0]; next && next.bytes <= this.freeBytes; next = this.waiting[0]) {
      this.freeBytes -= next.bytes;
      this.waiting.shift();
      next.enter();
    }
  }
}

import { setTimeout as sleep } from 'node:timers/promises';

/** Runs an asynchronous job again and again, `periodMs` after it ended, until stopped. The job must not throw. */
export class Ticker {
  private life: AbortController | null = null;
  private running: Promise<void> = Promise.resolve();

  constructor(
    private readonly periodMs: number,
    private readonly job: () => Promise<void>,
  ) {}

  /** The first run is after one period. */
  start(): void {
    if (this.life !== null) return;
    this.life = new AbortController();
    this.running = this.loop(this.life.signal);
  }

  /** Waits for the run under way. */
  async stop(): Promise<void> {
    this.life?.abort();
    this.life = null;
    await this.running;
  }

  private async loop(signal: AbortSignal): Promise<void> {
    for (;;) {
      await sleep(this.periodMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      await this.job();
    }
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import type { EgressPolicy } from '../../policy/egress';
import type { Clock } from '../clock';
import { nextHealth, type HealthState } from './health-state';
import { probe } from './probe';

/** Targets found together must not be probed in step. */
const MAX_FIRST_DELAY_MS = 1_000;

export interface TargetProbeOptions {
  url: string;
  intervalMs: number;
  timeoutMs: number;
  declared: boolean;
  initial: HealthState;
  dispatcher: Dispatcher;
  egress: EgressPolicy;
  clock: Clock;
  /** Told when the target begins to pass or to fail. */
  onTurn(state: HealthState): void;
}

/** Probes one target at its interval, until stopped. */
export class TargetProbe {
  private readonly life = new AbortController();
  private current: HealthState;

  constructor(private readonly options: TargetProbeOptions) {
    this.current = options.initial;
  }

  get health(): HealthState {
    return this.current;
  }

  start(): void {
    void this.loop();
  }

  stop(): void {
    this.life.abort();
  }

  private async loop(): Promise<void> {
    const { intervalMs } = this.options;
    await this.pause(Math.random() * Math.min(intervalMs, MAX_FIRST_DELAY_MS));
    while (!this.life.signal.aborted) {
      const startedMs = this.options.clock.monotonicMs();
      await this.once();
      await this.pause(Math.max(0, intervalMs - (this.options.clock.monotonicMs() - startedMs)));
    }
  }

  private async once(): Promise<void> {
    const { url, timeoutMs, declared, dispatcher, egress, clock, onTurn } = this.options;
    const result = await probe({ url, timeoutMs, declared, dispatcher, egress, signal: this.life.signal });
    // A probe cut short by stopping says nothing about the target.
    if (this.life.signal.aborted) return;
    const before = this.current;
    this.current = nextHealth(before, result, clock.wall());
    if (this.current.state !== before.state) onTurn(this.current);
  }

  private async pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.life.signal }).catch(() => undefined);
  }
}

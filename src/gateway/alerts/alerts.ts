import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ReachError } from '../../protocol/reach-error';
import type { Clock, Logger } from '../../registry';
import { DEFAULT_WINDOW_MS, type Alert, type AlertChannel, type AlertInput, type AlertSink } from './alert';

/** Who may raise an alert: the first to claim its key. */
export interface AlertClaims {
  /** False when the key is claimed already, by whatever process. @throws ReachError `engine_unavailable` */
  claim(kind: string, key: string, windowMs: number): Promise<boolean>;
}

export interface AlertsOptions {
  claims: AlertClaims;
  channels: readonly AlertChannel[];
  logger: Logger;
  clock: Clock;
  /** Pauses before a channel that failed is tried again, ms. Default 1, 5 and 25 s. */
  retryDelaysMs?: readonly number[];
}

/** Keys that are remembered here, so that an alert on the hot path costs no round trip. */
const MAX_REMEMBERED = 10_000;

/**
 * Raises alerts: each once in its window, whatever number of processes notices the same, on every channel. While etcd is
 * away each process raises what it sees: twice is better than never.
 */
export class Alerts implements AlertSink {
  /** Until when this process need not ask, by kind and key; monotonic ms. */
  private readonly quietUntil = new Map<string, number>();
  private readonly life = new AbortController();
  private readonly sending = new Set<Promise<void>>();

  constructor(private readonly options: AlertsOptions) {}

  async raise({ windowMs = DEFAULT_WINDOW_MS, ...input }: AlertInput): Promise<boolean> {
    const { clock, claims, logger } = this.options;
    const id = `${input.kind}\u0000${input.key}`;
    const nowMs = clock.monotonicMs();
    if ((this.quietUntil.get(id) ?? Number.NEGATIVE_INFINITY) > nowMs) return false;
    this.remember(id, nowMs + windowMs);
    const mine = await claims.claim(input.kind, input.key, windowMs).catch((error: unknown) => {
      logger.debug({ kind: input.kind, error }, 'an alert is raised without asking the others');
      return true;
    });
    if (!mine) return false;
    const alert: Alert = { id: randomUUID(), at: clock.wall().toISOString(), ...input };
    for (const channel of this.options.channels) this.track(this.deliver(channel, alert));
    return true;
  }

  /** Ends retries. What is being sent is given the moment it takes. */
  async stop(): Promise<void> {
    this.life.abort();
    await Promise.all(this.sending);
  }

  private remember(id: string, untilMs: number): void {
    this.quietUntil.delete(id);
    this.quietUntil.set(id, untilMs);
    const [oldest] = this.quietUntil.keys();
    if (this.quietUntil.size > MAX_REMEMBERED && oldest !== undefined) this.quietUntil.delete(oldest);
  }

  private track(sending: Promise<void>): void {
    this.sending.add(sending);
    void sending.finally(() => this.sending.delete(sending));
  }

  private async deliver(channel: AlertChannel, alert: Alert): Promise<void> {
    const { retryDelaysMs = [1_000, 5_000, 25_000], logger } = this.options;
    for (const delayMs of [...retryDelaysMs, null]) {
      try {
        return await channel.send(alert);
      } catch (caught) {
        const { code, message } = ReachError.from(caught);
        const facts = { channel: channel.name, kind: alert.kind, key: alert.key, code };
        if (delayMs === null || this.life.signal.aborted)
          return logger.error(facts, `an alert could not be sent to ${channel.name}: ${message}`);
        logger.debug(facts, 'an alert is sent again in a moment');
        await sleep(delayMs, undefined, { signal: this.life.signal, ref: false }).catch(() => undefined);
      }
    }
  }
}

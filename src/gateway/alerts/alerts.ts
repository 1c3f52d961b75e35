import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ReachError } from '../../protocol/reach-error';
import type { Clock, Logger } from '../../registry';
import { DEFAULT_WINDOW_MS, type Alert, type AlertChannel, type AlertInput, type AlertSink } from './alert';

/** Who may raise an alert: the first to claim its key. */
export interface AlertClaims {
  /** False when the key is claimed already, by whatever process. @throws ReachError `engine_unavailable` */
  claim(kind: string, key: string, windowMs: number): Promise<boolean>;
  /** Gives a claim up before its window is over. @throws ReachError `engine_unavailable` */
  release(kind: string, key: string): Promise<void>;
}

export interface AlertsOptions {
  claims: AlertClaims;
  channels: readonly AlertChannel[];
  logger: Logger;
  clock: Clock;
  /** Pauses before a channel that failed is tried again, ms. Default {@link RETRY_DELAYS_MS}. */
  retryDelaysMs?: readonly number[];
}

/** A quarter of an hour: longer than an engine is restarted. */
const RETRY_DELAYS_MS: readonly number[] = [1_000, 5_000, 25_000, 60_000, 240_000, 600_000];

/** Keys that are remembered here, so that an alert on the hot path costs no round trip. */
const MAX_REMEMBERED = 10_000;

/**
 * How long this process does not ask again for what another has claimed, ms: that claim's window is not known here, and the
 * other may give it up.
 */
const REFUSED_FOR_MS = 60_000;

/**
 * Raises alerts: each once in its window, whatever number of processes notices the same, on every channel. While etcd is
 * away each process raises what it sees: twice is better than never. For the same reason the claim is given up when a channel
 * is: whoever notices next, be it this process after its restart, raises it anew, on all channels.
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
    const claimed = await claims.claim(input.kind, input.key, windowMs).catch((error: unknown) => {
      logger.debug({ kind: input.kind, error }, 'an alert is raised without asking the others');
      return null;
    });
    if (claimed === false) {
      this.remember(id, nowMs + Math.min(windowMs, REFUSED_FOR_MS));
      return false;
    }
    const alert: Alert = { id: randomUUID(), at: clock.wall().toISOString(), ...input };
    this.track(this.sendAll(alert, { id, untilMs: claimed ? nowMs + windowMs : null }));
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

  /** `untilMs`: how long this process has the claim, null when it has none. */
  private async sendAll(alert: Alert, { id, untilMs }: { id: string; untilMs: number | null }): Promise<void> {
    const sent = await Promise.all(this.options.channels.map((channel) => this.deliver(channel, alert)));
    const { clock, claims, logger } = this.options;
    if (sent.every(Boolean)) return;
    this.quietUntil.delete(id);
    // After its window the claim is gone, or somebody else's.
    if (untilMs === null || clock.monotonicMs() >= untilMs) return;
    await claims.release(alert.kind, alert.key).catch((error: unknown) => {
      logger.debug({ kind: alert.kind, error }, 'the claim of an alert that was not sent could not be given up');
    });
  }

  /** Answers whether the channel took it. */
  private async deliver(channel: AlertChannel, alert: Alert): Promise<boolean> {
    const { retryDelaysMs = RETRY_DELAYS_MS, logger } = this.options;
    for (let retries = 0; ; retries += 1) {
      try {
        await channel.send(alert);
        return true;
      } catch (caught) {
        const { code, message } = ReachError.from(caught);
        const facts = { channel: channel.name, kind: alert.kind, key: alert.key, code };
        const delayMs = retryDelaysMs[retries];
        if (delayMs === undefined || this.life.signal.aborted) {
          logger.error(facts, `an alert could not be sent to ${channel.name}: ${message}`);
          return false;
        }
        logger.debug(facts, 'an alert is sent again in a moment');
        await sleep(delayMs, undefined, { signal: this.life.signal, ref: false }).catch(() => undefined);
      }
    }
  }
}

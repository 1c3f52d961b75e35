import { performance } from 'node:perf_hooks';
import type { Client } from '@temporalio/client';
import { ReachError } from '../protocol/reach-error';
import { bounded } from './temporal-errors';

/** How often the worker's queue is looked at, ms. */
const LOOK_INTERVAL_MS = 1_000;
/** A look that takes longer tells nothing, ms. */
const LOOK_TIMEOUT_MS = 2_000;
const RETRY_AFTER_MS = 1_000;
/** So many looks in a row must find the workers behind: right after an outage one old task is soon taken. */
const LOOKS_BEHIND = 3;

export interface BackpressureOptions {
  client: Client;
  namespace: string;
  taskQueue: string;
  /** Reaches that may be in the hands of this gateway at once (`backpressure.max_in_flight`). */
  maxInFlight: number;
  /** Age of the oldest task that no worker has taken, ms, from which on callers that wait are refused. */
  maxBacklogAgeMs: number;
}

/**
 * Tells senders to hold back (R29) before they wait in vain: when this gateway has its hands full, and when the workers
 * are behind, as the age of the task queue's backlog shows. A durable hand-over may wait and is only bound by the former.
 */
export class Backpressure {
  private inFlight = 0;
  private backlogAgeMs = 0;
  private backlog = 0;
  private looksBehind = 0;
  private seenMs = Number.NEGATIVE_INFINITY;
  private timer: NodeJS.Timeout | null = null;

  constructor(private readonly options: BackpressureOptions) {}

  start(): void {
    this.timer ??= setInterval(() => void this.look(), LOOK_INTERVAL_MS).unref();
  }

  stop(): void {
    if (this.timer) clearInterval(this.timer);
    this.timer = null;
  }

  /** What metrics show: reaches in hand, and the workers' backlog in tasks and age. */
  state(): { inFlight: number; backlog: number; backlogAgeMs: number } {
    return { inFlight: this.inFlight, backlog: this.backlog, backlogAgeMs: this.backlogAgeMs };
  }

  /**
   * Runs the handling of one reach, unless senders must hold back.
   * @throws ReachError `overloaded`: nothing was accepted
   */
  async admit<T>(mode: 'sync' | 'async', run: () => Promise<T>): Promise<T> {
    const { maxInFlight } = this.options;
    if (this.inFlight >= maxInFlight) {
      throw holdBack(`This gateway has ${maxInFlight} requests in hand, as many as it may have`);
    }
    // A look that is too old proves nothing; without Temporal the start itself says so.
    const fresh = performance.now() - this.seenMs < 3 * LOOK_INTERVAL_MS;
    if (mode === 'sync' && fresh && this.looksBehind >= LOOKS_BEHIND) {
      throw holdBack(`The workers are behind: ${this.backlog} tasks wait, the oldest for ${this.backlogAgeMs} ms`);
    }
    this.inFlight += 1;
    try {
      return await run();
    } finally {
      this.inFlight -= 1;
    }
  }

  private async look(): Promise<void> {
    const { client, namespace, taskQueue } = this.options;
    const request = { namespace, taskQueue: { name: taskQueue }, reportStats: true };
    try {
      const answers = await Promise.all(
        ([1, 2] as const).map((taskQueueType) =>
          bounded(
            client,
            () => client.workflowService.describeTaskQueue({ ...request, taskQueueType }),
            LOOK_TIMEOUT_MS,
          ),
        ),
      );
      const stats = answers.map((answer) => answer.stats);
      this.backlog = sum(stats.map((one) => Number(one?.approximateBacklogCount ?? 0)));
      this.backlogAgeMs = Math.max(...stats.map((one) => ageMs(one?.approximateBacklogAge)));
      this.looksBehind = this.backlogAgeMs > this.options.maxBacklogAgeMs ? this.looksBehind + 1 : 0;
      this.seenMs = performance.now();
    } catch {
      // The next look tries again; until then the last one ages.
    }
  }
}

function holdBack(why: string): ReachError {
  return new ReachError('overloaded', `${why}; send it again after the given time, with the same idempotency key`, {
    retryAfterMs: RETRY_AFTER_MS,
  });
}

const sum = (numbers: number[]): number => numbers.reduce((total, one) => total + one, 0);

function ageMs(age: { seconds?: unknown; nanos?: number | null } | null | undefined): number {
  return Math.round(Number(age?.seconds ?? 0) * 1_000 + (age?.nanos ?? 0) / 1e6);
}

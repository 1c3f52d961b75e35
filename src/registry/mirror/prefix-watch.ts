import { castGrpcError, type Etcd3, type IWatchResponse } from 'etcd3';
import { ETCD_CALL_TIMEOUT_MS } from '../etcd/etcd-client';
import { prefixRange } from '../etcd/etcd-ops';

/** One key as mirrored. Revisions are counts, far below what a double holds exactly. */
export interface MirrorEntry {
  value: Buffer;
  modRevision: number;
}

/** One event of a watch; `value` is null for a deletion. */
export interface WatchedEvent {
  key: string;
  value: Buffer | null;
  revision: number;
}

/** What to watch and whom to tell. Nothing is told before {@link PrefixWatch.release}. */
export interface PrefixWatchOptions {
  etcd: Etcd3;
  prefix: string;
  fromRevision: number;
  /** Events of one response, in order. */
  onEvents(events: WatchedEvent[]): void;
  /** Told of every answer to {@link PrefixWatch.pulse}, and of everything else that etcd says, once released. */
  onAlive?(): void;
  /** Told once, when the watch can no longer promise that nothing was missed. Nothing follows. */
  onGap(reason: string): void;
}

type WatchStream = Awaited<ReturnType<Etcd3['watchClient']['watch']>>;

/**
 * One watch on its own stream. Unlike the library's watcher it never resumes by itself: whoever owns it decides
 * what a gap means, and here a gap always means listing anew.
 */
export class PrefixWatch {
  private released = false;
  private ended = false;
  private readonly early: WatchedEvent[][] = [];
  private gap: string | null = null;
  /** Since when etcd owes an answer. */
  private askedMs: number | null = null;

  private constructor(
    private readonly stream: WatchStream,
    private readonly options: PrefixWatchOptions,
  ) {}

  /** Opens a watch and waits until etcd has confirmed it. @throws an etcd or gRPC error, also when no answer comes in time */
  static async open(options: PrefixWatchOptions): Promise<PrefixWatch> {
    const stream = await options.etcd.watchClient.watch();
    const watch = new PrefixWatch(stream, options);
    try {
      await watch.confirmed();
    } catch (error) {
      watch.close();
      throw error;
    }
    return watch;
  }

  /** Tells what has come in so far; from now on everything is told at once. */
  release(): void {
    this.released = true;
    for (const events of this.early.splice(0)) this.options.onEvents(events);
    if (this.gap !== null) this.options.onGap(this.gap);
  }

  /**
   * Asks for a sign of life. A stream over a connection that died in silence looks like one on which nothing happens.
   *
   * @param nowMs monotonic
   * @returns for how long etcd has owed an answer, milliseconds
   */
  pulse(nowMs: number): number {
    if (this.ended) return 0;
    if (this.askedMs === null) this.stream.write({ progress_request: {} });
    this.askedMs ??= nowMs;
    return nowMs - this.askedMs;
  }

  /** Ends the watch. Nothing is told any more. */
  close(): void {
    this.ended = true;
    this.stream.cancel();
  }

  private confirmed(): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`etcd did not confirm a watch within ${ETCD_CALL_TIMEOUT_MS} ms`)),
        ETCD_CALL_TIMEOUT_MS,
      );
      const fail = (error: Error) => {
        clearTimeout(timer);
        reject(error);
        this.report(error.message);
      };
      this.stream.on('data', (response: IWatchResponse) => {
        if (response.canceled) return fail(new Error(describeCancel(response)));
        if (response.created) {
          clearTimeout(timer);
          resolve();
        }
        this.askedMs = null;
        if (this.released && !this.ended) this.options.onAlive?.();
        this.take(response);
      });
      this.stream.on('error', (error: Error) => fail(castGrpcError(error)));
      this.stream.on('end', () => fail(new Error('etcd ended the watch stream')));
      const { prefix, fromRevision } = this.options;
      this.stream.write({
        create_request: { ...prefixRange(prefix), start_revision: String(fromRevision), progress_notify: true },
      });
    });
  }

  private take({ events }: IWatchResponse): void {
    if (events.length === 0 || this.ended) return;
    const taken = events.map(({ type, kv }) => ({
      key: kv.key.toString(),
      value: type === 'Delete' ? null : kv.value,
      revision: Number(kv.mod_revision),
    }));
    if (this.released) this.options.onEvents(taken);
    else this.early.push(taken);
  }

  private report(reason: string): void {
    if (this.ended) return;
    this.ended = true;
    this.stream.cancel();
    if (this.released) this.options.onGap(reason);
    else this.gap = reason;
  }
}

function describeCancel({ compact_revision, cancel_reason }: IWatchResponse): string {
  return compact_revision !== '0'
    ? `etcd has compacted revision ${compact_revision}`
    : `etcd cancelled the watch: ${cancel_reason}`;
}

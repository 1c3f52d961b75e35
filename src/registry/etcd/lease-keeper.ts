import { castGrpcError, type Etcd3, type ILeaseKeepAliveResponse } from 'etcd3';
import { ETCD_CALL_TIMEOUT_MS } from './etcd-client';

type KeepAliveStream = Awaited<ReturnType<Etcd3['leaseClient']['leaseKeepAlive']>>;

interface Waiter {
  promise: Promise<number>;
  resolve(remainingSec: number): void;
  reject(error: Error): void;
  timer: NodeJS.Timeout;
}

/**
 * Keeps leases alive, one request at a time, over one shared stream.
 *
 * The library's Lease object renews by itself, whether or not its owner still lives, and cannot adopt a lease
 * that another gateway granted; an agent's lease must live exactly as long as its heartbeats come (R13).
 */
export class LeaseKeeper {
  private stream: Promise<KeepAliveStream> | null = null;
  private readonly waiters = new Map<string, Waiter>();

  constructor(
    private readonly etcd: Etcd3,
    private readonly timeoutMs = ETCD_CALL_TIMEOUT_MS,
  ) {}

  /**
   * Renews a lease. Answers the seconds it now has, 0 when it does not exist (any more).
   *
   * @throws an etcd or gRPC error when etcd does not answer in time
   */
  keepAlive(leaseId: string): Promise<number> {
    const waiting = this.waiters.get(leaseId);
    if (waiting !== undefined) return waiting.promise;
    const waiter = this.addWaiter(leaseId);
    this.open().then(
      (stream) => void stream.write({ ID: leaseId }),
      (error: Error) => this.drop(error),
    );
    return waiter.promise;
  }

  /** Ends the stream; requests under way fail. A later keepAlive opens a new one. */
  close(): void {
    this.drop(new Error('closed'));
  }

  private addWaiter(leaseId: string): Waiter {
    const { promise, resolve, reject } = deferred<number>();
    const timer = setTimeout(
      () => this.drop(new Error(`no keep-alive answer within ${this.timeoutMs} ms`)),
      this.timeoutMs,
    );
    const waiter = { promise, resolve, reject, timer };
    this.waiters.set(leaseId, waiter);
    return waiter;
  }

  private open(): Promise<KeepAliveStream> {
    this.stream ??= this.connect();
    return this.stream;
  }

  private async connect(): Promise<KeepAliveStream> {
    const stream = await this.etcd.leaseClient.leaseKeepAlive();
    const dropIfCurrent = (error: Error) => void this.stream?.then((current) => current === stream && this.drop(error));
    stream.on('data', (response: ILeaseKeepAliveResponse) => this.settle(response));
    stream.on('error', (error: Error) => dropIfCurrent(castGrpcError(error)));
    stream.on('end', () => dropIfCurrent(new Error('etcd ended the keep-alive stream')));
    return stream;
  }

  private settle({ ID, TTL }: ILeaseKeepAliveResponse): void {
    const waiter = this.waiters.get(ID);
    if (waiter === undefined) return;
    this.waiters.delete(ID);
    clearTimeout(waiter.timer);
    waiter.resolve(Math.max(0, Number(TTL)));
  }

  /** All requests of a stream fail together: when one got no answer, none of the later ones will. */
  private drop(error: Error): void {
    const { stream, waiters } = this;
    this.stream = null;
    stream?.then((open) => open.cancel()).catch(() => undefined);
    for (const waiter of waiters.values()) {
      clearTimeout(waiter.timer);
      waiter.reject(error);
    }
    waiters.clear();
  }
}

function deferred<T>(): { promise: Promise<T>; resolve(value: T): void; reject(error: Error): void } {
  let resolve!: (value: T) => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<T>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}

import type { AgentHost } from './agent-host';
import type { WorkerAddress } from './registration-api';
import { sleep } from './time';
import { WorkerHost, type WorkerHostParts } from './worker-host';

/** Pause before Temporal's new place is tried again, ms. */
const RETRY_MS = 2_000;

/**
 * A worker that follows Temporal: when a new registration names another address, namespace or task queue, a new worker
 * starts there and the old one finishes what it has. Without it an agent would heartbeat to a platform that came back
 * elsewhere and never see its work.
 */
export class MovableWorker implements AgentHost {
  readonly ended: Promise<void>;
  readonly #stop = new AbortController();
  #settle: { resolve(): void; reject(error: unknown): void } = { resolve: () => undefined, reject: () => undefined };
  #wanted: WorkerAddress;

  private constructor(
    private current: WorkerHost,
    private readonly parts: WorkerHostParts,
  ) {
    this.#wanted = parts.at;
    this.ended = new Promise((resolve, reject) => (this.#settle = { resolve, reject }));
    this.ended.catch(() => undefined);
    this.#watch(current);
  }

  /** As {@link WorkerHost.start}. */
  static async start(parts: WorkerHostParts): Promise<MovableWorker> {
    return new MovableWorker(await WorkerHost.start(parts), parts);
  }

  /** Works at `at` from now on; tries until it succeeds, another place is named, or the worker drains. */
  async follow(at: WorkerAddress, onError: (error: unknown) => void): Promise<void> {
    if (samePlace(at, this.#wanted)) return;
    this.#wanted = at;
    while (this.#wanted === at && !this.#stop.signal.aborted) {
      try {
        return this.#adopt(await WorkerHost.start({ ...this.parts, at }));
      } catch (caught) {
        onError(caught);
        await sleep(RETRY_MS, this.#stop.signal).catch(() => undefined);
      }
    }
  }

  async drain(): Promise<void> {
    this.#stop.abort(new Error('the worker drains'));
    await this.current.drain();
  }

  #adopt(next: WorkerHost): void {
    if (this.#stop.signal.aborted) return void next.drain();
    const old = this.current;
    this.current = next;
    this.#watch(next);
    void old.drain().catch(() => undefined);
  }

  /** Only the end of the current worker is an end; one that was left behind may end as it likes. */
  #watch(host: WorkerHost): void {
    host.ended.then(
      () => host === this.current && this.#settle.resolve(),
      (error: unknown) => host === this.current && this.#settle.reject(error),
    );
  }
}

const samePlace = (a: WorkerAddress, b: WorkerAddress) =>
  a.address === b.address && a.namespace === b.namespace && a.task_queue === b.task_queue;

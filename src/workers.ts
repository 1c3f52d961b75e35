import type { Worker } from '@temporalio/worker';

/** What the roots do with a worker. */
export type RunningWorker = Pick<Worker, 'run' | 'shutdown' | 'getState'>;

/** Several workers as one: they start and stop together, and when one breaks down the others stop too. */
export function together(...workers: readonly Worker[]): RunningWorker {
  const shutdown = () => {
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
  };
  return {
    shutdown,
    getState: () =>
      workers.some((worker) => worker.getState() === 'RUNNING') ? 'RUNNING' : (workers[0]?.getState() ?? 'STOPPED'),
    async run() {
      const running = workers.map((worker) => worker.run());
      for (const each of running) each.catch(shutdown);
      const ends = await Promise.allSettled(running);
      for (const end of ends) if (end.status === 'rejected') throw end.reason;
    },
  };
}

/** Lets a worker end what it has in hand, and waits for that. @throws what it broke down with, if it did */
export async function endWorker(worker: RunningWorker | null, working: Promise<void> | undefined): Promise<void> {
  if (worker?.getState() === 'RUNNING') worker.shutdown();
  await working;
}

/**
 * Runs a worker. One that breaks down is told of at once: until then its process would look well, and nobody would do its work.
 * The promise still rejects, for whoever ends the worker.
 */
export function runWatched(worker: RunningWorker, onBroken: (error: unknown) => void): Promise<void> {
  const working = worker.run();
  working.catch(onBroken);
  return working;
}

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

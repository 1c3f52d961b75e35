import { endWorker, runWatched, type RunningWorker } from './workers';

/** A worker whose run ends when it is told to. */
function workerOf() {
  let state: ReturnType<RunningWorker['getState']> = 'RUNNING';
  let settle: { end: () => void; fail: (error: Error) => void } | undefined;
  const shutdown = () => {
    // As the SDK's: only one that runs may be shut down.
    if (state !== 'RUNNING') throw new Error('Not running');
    settle?.end();
  };
  const run = () =>
    new Promise<void>((resolve, reject) => {
      settle = { end: resolve, fail: reject };
    });
  const breakDown = (error: Error) => {
    state = 'FAILED';
    settle?.fail(error);
  };
  return { worker: { run, shutdown, getState: () => state }, breakDown };
}

it('a worker that breaks down is told of once, and again to whoever ends it', async () => {
  const { worker, breakDown } = workerOf();
  const told: unknown[] = [];
  const unhandled = jest.fn();
  process.once('unhandledRejection', unhandled);
  const working = runWatched(worker, (error) => told.push(error));
  breakDown(new Error('no poller'));
  await new Promise((done) => setImmediate(done));
  process.off('unhandledRejection', unhandled);
  expect(unhandled).not.toHaveBeenCalled();
  expect(told).toEqual([new Error('no poller')]);
  await expect(endWorker(worker, working)).rejects.toThrow('no poller');
});

it('one that is ended in order is told of to nobody', async () => {
  const { worker } = workerOf();
  const told: unknown[] = [];
  await endWorker(
    worker,
    runWatched(worker, (error) => told.push(error)),
  );
  await endWorker(null, undefined);
  expect(told).toEqual([]);
});

import { getEventListeners } from 'node:events';
import { ReachError } from '../../protocol/reach-error';
import { patiently, unlessAborted } from './patience';

const down = () => new ReachError('engine_unavailable', 'down');
const never = () => new Promise<never>(() => undefined);

it('asks again until it is answered', async () => {
  let asked = 0;
  const ask = () => ((asked += 1) < 3 ? Promise.reject(down()) : Promise.resolve('here'));
  expect(await patiently(ask, { forMs: 10_000 })).toBe('here');
  expect(asked).toBe(3);
});

it('gives up with the last error, before a pause that would end too late', async () => {
  let asked = 0;
  const ask = () => Promise.reject(new Error(`no ${(asked += 1)}`));
  await expect(patiently(ask, { forMs: 10 })).rejects.toThrow('no 1');
});

it('does not repeat what would be refused again', async () => {
  let asked = 0;
  const ask = () => ((asked += 1), Promise.reject(new ReachError('unauthorized', 'who?')));
  await expect(patiently(ask, { forMs: 10_000 })).rejects.toThrow('who?');
  expect(asked).toBe(1);
});

it('does not wait for a store that hangs', async () => {
  await expect(patiently(never, { forMs: 20 })).rejects.toThrow(
    expect.objectContaining({ code: 'engine_unavailable', message: expect.stringContaining('20 ms') }),
  );
});

it('ends with the signal, while asking and while pausing, and leaves no listener behind', async () => {
  for (const ask of [never, () => Promise.reject(down())]) {
    const caller = new AbortController();
    const asking = patiently(ask, { forMs: 10_000, signal: caller.signal });
    setImmediate(() => caller.abort(new Error('enough')));
    await expect(asking).rejects.toThrow('enough');
    expect(getEventListeners(caller.signal, 'abort')).toEqual([]);
  }
});

it('leaves no listener behind when the promise was first', async () => {
  const { signal } = new AbortController();
  expect(await unlessAborted(Promise.resolve(1), signal)).toBe(1);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

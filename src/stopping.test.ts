import { stopEach } from './stopping';

it('runs all stops in order, whichever fail, and then tells the first failure', async () => {
  const done: string[] = [];
  const stop = (name: string, error?: Error) => async () => {
    await Promise.resolve();
    done.push(name);
    if (error) throw error;
  };
  const thrown = () => {
    throw new Error('second');
  };
  const stopping = stopEach([stop('a'), stop('b', new Error('first')), thrown, stop('c'), () => void done.push('d')]);
  await expect(stopping).rejects.toThrow('first');
  expect(done).toEqual(['a', 'b', 'c', 'd']);
  await expect(stopEach([stop('e')])).resolves.toBeUndefined();
});

import { FastLane } from './fast-lane';

function held() {
  let end!: (value: string) => void;
  const call = () => new Promise<string>((resolve) => (end = resolve));
  return { call, end: () => end('done') };
}

test('an agent gets its part and no more; others are not touched; whatever ends gives its place back', async () => {
  const lane = new FastLane(2);
  const calls = [held(), held()];
  const running = calls.map(({ call }) => lane.take('slow', call));
  await expect(lane.take('slow', () => Promise.resolve('third'))).resolves.toBeNull();
  await expect(lane.take('quick', () => Promise.resolve('ok'))).resolves.toBe('ok');
  calls[0]!.end();
  await running[0];
  await expect(lane.take('slow', () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
  await expect(lane.take('slow', () => Promise.resolve('again'))).resolves.toBe('again');
  calls[1]!.end();
  await expect(running[1]).resolves.toBe('done');
});

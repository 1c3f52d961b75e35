/** Who waits for an agent is counted once, and nobody who has given up. */
import { Bulkheads } from '../../src/policy/bulkhead';
import { type ReachError } from '../../src/protocol/reach-error';

const entry = { key: 'desk', limit: 1, signal: new AbortController().signal };

it('counts those who wait and those who will be back, each once', async () => {
  const bulkheads = new Bulkheads({ queueLimit: 10 });
  const release = await bulkheads.enter({ ...entry, patienceMs: 0, caller: 'first' });
  const refused = await bulkheads.enter({ ...entry, patienceMs: 0, caller: 'second' }).catch((error: unknown) => error);
  expect((refused as ReachError).code).toBe('overloaded');
  expect(bulkheads.depth('desk')).toBe(1);
  const back = bulkheads.enter({ ...entry, patienceMs: 60_000, caller: 'second' });
  expect(bulkheads.depth('desk')).toBe(1);
  const third = bulkheads.enter({ ...entry, patienceMs: 60_000, caller: 'third' });
  expect(bulkheads.depth('desk')).toBe(2);
  release();
  (await back)();
  (await third)();
  expect([bulkheads.depth('desk'), bulkheads.depth('nobody')]).toEqual([0, 0]);
});

it('forgets who will not come back, at the agent and at its instances', async () => {
  const bulkheads = new Bulkheads({ queueLimit: 10 });
  for (const key of ['desk', 'desk/1.0.0/a', 'desk2']) {
    await bulkheads.enter({ ...entry, key, patienceMs: 0, caller: 'first' });
    await bulkheads.enter({ ...entry, key, patienceMs: 0, caller: 'second' }).catch(() => undefined);
  }
  bulkheads.left('desk', 'second');
  expect(['desk', 'desk/1.0.0/a', 'desk2'].map((key) => bulkheads.depth(key))).toEqual([0, 0, 1]);
});

import { DeadLetterStore } from '../../src/registry/dead-letters/dead-letter-store';
import { placesForEachTest } from './support';

const place = placesForEachTest();

it('keeps what is written for twice the retention as it is then, so that no record ends before its run', async () => {
  const { etcd, options } = place();
  let retentionSec = 3_600;
  const store = new DeadLetterStore({ ...options, retentionSec: async () => retentionSec });
  const discard = (reachId: string) =>
    store.discard({ reachId, runId: `run-of-${reachId}` }, { reason: 'x', by: 'ann' });
  const ttlOf = async (reachId: string) => {
    const { kvs } = await etcd.getAll().prefix(options.keyPrefix).exec();
    const lease = kvs.find(({ key }) => key.toString().includes(`run-of-${reachId}`))?.lease ?? '';
    return Number((await etcd.leaseClient.leaseTimeToLive({ ID: lease })).grantedTTL);
  };
  await discard('r-1');
  expect(await ttlOf('r-1')).toBe(7_200);
  retentionSec = 30 * 86_400;
  await discard('r-2');
  expect(await ttlOf('r-2')).toBe(60 * 86_400);
  retentionSec = 3_600;
  await discard('r-3');
  expect(await ttlOf('r-3')).toBe(7_200);
});

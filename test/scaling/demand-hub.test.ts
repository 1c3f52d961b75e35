/** What is asked of agents, shared through a real etcd. */
import { DemandHub, type Clock } from '../../src/registry';
import { eventually, openPlace, type Place } from '../registry/support';

const KEY = { agentName: 'desk', agentVersion: '1.0.0', ability: 'work' };

let place: Place;
beforeEach(() => void (place = openPlace()));
afterEach(() => place.close());

async function startHub(waiting: () => number = () => 0): Promise<DemandHub> {
  const hub = new DemandHub({ ...place.options, publishIntervalMs: 50, queueOf: waiting });
  place.onClose(() => hub.stop());
  await hub.start();
  return hub;
}

const arrivals = (hub: DemandHub) => hub.agent('desk').series[0]?.arrivals;

it('every process knows what all were asked for and who waits anywhere; one that has gone is remembered, but not its queue', async () => {
  let waiting = 7;
  const [one, two] = [await startHub(), await startHub(() => waiting)];
  for (let n = 0; n < 5; n += 1) one.arrived(KEY);
  for (let n = 0; n < 3; n += 1) two.arrived(KEY);
  two.started(KEY)();
  await eventually(() => arrivals(one) === 8 && arrivals(two) === 8);
  await eventually(() => one.agent('desk').queueDepth === 7 && one.agent('desk').series[0]?.service.count === 1);
  waiting = 2;
  await eventually(() => one.agent('desk').queueDepth === 2);

  await two.stop();
  await eventually(() => one.agent('desk').queueDepth === 0);
  expect(arrivals(one)).toBe(8);
});

it('a late process learns it, and it is told again after a lost lease', async () => {
  const [one, late] = [await startHub(), await startHub()];
  one.arrived({ ...KEY, agentName: 'odd/名' });
  await eventually(() => late.agent('odd/名').series[0]?.arrivals === 1);
  const prefix = `${place.options.keyPrefix}/default/demand/`;
  const { kvs } = await place.etcd.getAll().prefix(prefix).exec();
  await Promise.all(kvs.map(({ lease }) => place.etcd.leaseClient.leaseRevoke({ ID: lease }).catch(() => undefined)));
  one.arrived({ ...KEY, agentName: 'odd/名' });
  await eventually(() => late.agent('odd/名').series[0]?.arrivals === 2);
});

it('writes nothing while nothing is asked', async () => {
  const one = await startHub();
  one.arrived({ ...KEY, agentName: 'still' });
  const revisions = async () =>
    (await place.etcd.getAll().prefix(`${place.options.keyPrefix}/default/demand/`).exec()).kvs
      .filter(({ key }) => key.toString().endsWith('/still'))
      .map(({ mod_revision }) => mod_revision);
  await eventually(async () => (await revisions()).length === 1);
  const before = await revisions();
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(await revisions()).toEqual(before);
});

it('withdraws what it told of an agent that nobody asks for any more, also when etcd was away at that moment', async () => {
  let aheadMs = 0;
  const clock: Clock = {
    monotonicMs: () => aheadMs + performance.now(),
    wall: () => new Date(new Date().getTime() + aheadMs),
  };
  const hub = new DemandHub({ ...place.options, publishIntervalMs: 50, clock });
  place.onClose(() => hub.stop());
  await hub.start();
  hub.arrived({ ...KEY, agentName: 'forgotten' });
  const told = async () =>
    (await place.etcd.getAll().prefix(`${place.options.keyPrefix}/default/demand/`).exec()).kvs.filter(({ key }) =>
      key.toString().endsWith('/forgotten'),
    ).length;
  await eventually(async () => (await told()) > 0);
  const txn = jest.spyOn(place.etcd.kv, 'txn').mockRejectedValueOnce(new Error('etcd is away'));
  aheadMs = 3 * 3_600_000;
  await eventually(async () => (await told()) === 0);
  expect(txn.mock.calls.length).toBeGreaterThan(1);
  txn.mockRestore();
});

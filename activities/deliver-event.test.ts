import { ApplicationFailure } from '@temporalio/common';
import { deliveryId } from '../src/protocol/identity';
import { ReachError } from '../src/protocol/reach-error';
import { readSubscribers, writeSubscribers } from '../src/protocol/subscriber-list';
import { decisionFor } from '../test/support/reach-input';
import { acceptedEvent, publishInput } from '../test/support/publish-input';
import type { ActivityDependencies, PlannedReach } from './dependencies';
import { deliverEvent } from './deliver-event';
import { fakeDependencies } from './test-support';

const event = acceptedEvent();
const idOf = (subscription: string) =>
  deliveryId({ tenant: 'default', source: event.attributes.source, key: event.attributes.id, by: 'id' }, subscription);

interface Scripted {
  deps: ActivityDependencies;
  started: PlannedReach[];
}

/** A worker whose router chooses `echo_agent`, unless `refuse` says otherwise for an asked type and agent. */
function scripted(
  refuse: (asked: { type: string; target_agent?: string }) => ReachError | null = () => null,
): Scripted {
  const { deps } = fakeDependencies();
  const started: PlannedReach[] = [];
  deps.router.route = async (request) => {
    const refusal = refuse(request);
    if (refusal) throw refusal;
    return decisionFor('echo_agent');
  };
  deps.startReach = async (plan) => {
    started.push(plan);
    return true;
  };
  return { deps, started };
}

function deliver({ deps }: Scripted, more: { from?: number; count?: number; total?: number } = {}) {
  const { from = 0, count = 3, total = 3 } = more;
  const { tenant, subscribers, trace_id } = publishInput(total);
  return deliverEvent(deps, { tenant, event, subscribers, from, count, trace_id });
}

const notAccepted = new ReachError('message_type_not_accepted', 'scripted');

it('starts one reach for each subscriber of its batch, under ids that say which event and subscription', async () => {
  const worker = scripted();
  expect(await deliver(worker, { from: 2, count: 3, total: 10 })).toEqual({ started: 3, unrouted: [], failed: [] });
  const ids = ['s-00002', 's-00003', 's-00004'];
  expect(worker.started.map(({ id }) => id)).toEqual(ids.map(idOf));
  expect(worker.started[0]).toMatchObject({
    envelope: {
      mode: 'async',
      target_agent: 'echo_agent',
      payload: { order: 1 },
      idempotency_key: idOf('s-00002'),
      message_id: 'evt-1',
      source_agent: '/shop',
      event: { topic: 'orders.created', subscription_id: 's-00002', attributes: event.attributes },
    },
    routed: { ready: true },
  });
});

it.each<[string, string[], string | undefined, string]>([
  ["the event's own type", ['order.created', 'event', 'task'], undefined, 'order.created'],
  ['event', ['event', 'task'], undefined, 'event'],
  ['task', ['task'], undefined, 'task'],
  ['what the subscription says', ['order.created', 'special'], 'special', 'special'],
])('sends it as %s where that is the first type accepted', async (_what, accepted, type, expected) => {
  const worker = scripted((asked) => (accepted.includes(asked.type) ? null : notAccepted));
  const subscribers = writeSubscribers([{ id: 's', agent: 'echo_agent', ...(type !== undefined && { type }) }]);
  await deliverEvent(worker.deps, { ...publishInput(0), event, subscribers, from: 0, count: 1 });
  expect(worker.started.map(({ envelope }) => envelope.type)).toEqual([expected]);
});

it.each(['agent_not_found', 'payload_schema_mismatch', 'no_ready_instance', 'message_type_not_accepted'] as const)(
  'starts the reach of a subscriber that cannot be routed to all the same (%s), and the others as ever',
  async (code) => {
    const worker = scripted(({ target_agent }) =>
      target_agent === 'lost#1.2.0' ? new ReachError(code, 'scripted') : null,
    );
    const subscribers = writeSubscribers([
      { id: 'lost', agent: 'lost#1.2.0', ability: 'echo' },
      { id: 'fine', agent: 'echo_agent' },
    ]);
    const input = { ...publishInput(0), event, subscribers, from: 0, count: 2 };
    expect(await deliverEvent(worker.deps, input)).toEqual({
      started: 2,
      unrouted: [{ subscription: 'lost', reach_id: idOf('lost'), code }],
      failed: [],
    });
    const [lost, fine] = ['lost', 'fine'].map((id) => worker.started.find((plan) => plan.id === idOf(id)));
    expect(lost).toMatchObject({
      envelope: { payload: { order: 1 }, type: 'task' },
      routed: { ready: false, decision: { chosen: { agent_name: 'lost', agent_version: '1.2.0', ability: 'echo' } } },
    });
    expect(fine!.routed.ready).toBe(true);
  },
);

it('looks again for an agent that its view may be about to show', async () => {
  let asked = 0;
  const worker = scripted(() => ((asked += 1) === 1 ? new ReachError('agent_not_found', 'scripted') : null));
  expect(await deliver(worker, { count: 1 })).toEqual({ started: 1, unrouted: [], failed: [] });
  expect(worker.started[0]!.routed.ready).toBe(true);
});

it('hands the ancestry on, with a budget of retries for each delivery alone', async () => {
  const worker = scripted();
  const ancestry = { root: 'r-1', parent: 'r-2', parent_run: 'run', chain: ['a/b (event)'] };
  const { subscribers } = publishInput(2);
  const input = { ...publishInput(0), subscribers, event: { ...event, ancestry }, from: 0, count: 2 };
  await deliverEvent(worker.deps, input);
  expect(worker.started.map(({ lineage }) => lineage)).toEqual(
    worker.started.map(({ id }) => ({ ...ancestry, tree: { run: id, limit: 10 } })),
  );
});

it('fails, to be retried, when Temporal does not take a reach; everybody else has been started, and is not again', async () => {
  const worker = scripted();
  const taken = new Set<string>();
  let down = true;
  worker.deps.startReach = async ({ id }) => {
    if (down && id === idOf('s-00001')) throw new ReachError('engine_unavailable', 'scripted');
    const isNew = !taken.has(id);
    taken.add(id);
    return isNew;
  };
  const first = await deliver(worker).catch((caught: unknown) => caught);
  expect(first).toBeInstanceOf(ApplicationFailure);
  expect(first).toMatchObject({ type: 'engine_unavailable', nonRetryable: false });
  expect(taken.size).toBe(2);
  down = false;
  expect(await deliver(worker)).toMatchObject({ started: 3 });
  expect(taken.size).toBe(3);
});

it('reports each batch once it is done', async () => {
  const worker = scripted(({ target_agent }) =>
    target_agent ? new ReachError('no_ready_instance', 'scripted') : null,
  );
  const reported: unknown[] = [];
  worker.deps.reportDeliveries = (batch) => void reported.push(batch);
  const came = await deliver(worker);
  expect(came.unrouted).toHaveLength(3);
  expect(reported).toEqual([came]);
});

it('counts a reach that cannot be started for any other reason, and goes on', async () => {
  const worker = scripted();
  worker.deps.startReach = ({ id }) =>
    id === idOf('s-00000') ? Promise.reject(new Error('a defect')) : Promise.resolve(true);
  expect(await deliver(worker)).toEqual({
    started: 2,
    unrouted: [],
    failed: [{ subscription: 's-00000', reach_id: idOf('s-00000'), code: 'internal' }],
  });
});

it('reads a packed list as any other', async () => {
  const worker = scripted();
  const list = readSubscribers(publishInput(4_000).subscribers).map(({ id }) => ({ id, agent: 'x'.repeat(64) }));
  const subscribers = writeSubscribers(list);
  expect(subscribers).toHaveProperty('packed');
  await deliverEvent(worker.deps, { ...publishInput(0), event, subscribers, from: 3_998, count: 50 });
  expect(worker.started.map(({ id }) => id)).toEqual(['s-03998', 's-03999'].map(idOf));
});

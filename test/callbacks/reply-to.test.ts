import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { startGateway, type TestGateway } from '../support/gateway';
import { startHttpAgent, type ScriptedHttpAgent } from '../support/scripted-http-agent';
import { temporalAddress } from '../support/temporal';
import { waitFor } from '../support/wait-for';
import { subscribe, topicOf } from '../pubsub/support';

let gateway: TestGateway;
let agent: ScriptedHttpAgent;
let connection: Connection;
let client: Client;

beforeAll(async () => {
  gateway = await startGateway({ config: { callbacks: { retry_schedule: ['100ms'], timeout: '20s' } } });
  agent = await startHttpAgent(gateway.api, { name: 'desk', endpoint: { max_retry: 0 } });
  connection = await Connection.connect({ address: temporalAddress() });
  client = new Client({ connection });
});
afterAll(async () => {
  await connection.close();
  await agent.close();
  await gateway.close();
});
beforeEach(() => agent.plays());

const send = (reply_to: unknown, more: object = {}) => gateway.api.reach({ ability: agent.ability, reply_to, ...more });

/** A caller's workflow that waits; a run takes signals whether or not a worker has it. */
async function waitingWorkflow() {
  const workflowId = `order-${randomUUID()}`;
  const handle = await client.workflow.start('order', { workflowId, taskQueue: `nobody-${workflowId}` });
  const signals = async (name: string) => {
    const { events } = await handle.fetchHistory();
    return (events ?? []).flatMap(({ workflowExecutionSignaledEventAttributes: signal }) =>
      signal?.signalName === name
        ? [defaultPayloadConverter.fromPayload<Record<string, unknown>>(signal.input!.payloads![0]!)]
        : [],
    );
  };
  return { workflowId, handle, signals };
}

describe('a reply to a workflow', () => {
  it.each([
    ['answered', { do: 'answer', output: { answer: 'yes' } } as const, 'completed'],
    ['refused', { do: 'reject', message: 'no' } as const, 'dead_lettered'],
  ])('signals the end of a reach that was %s, once, with what GET answers', async (_what, step, status) => {
    const { workflowId, handle, signals } = await waitingWorkflow();
    agent.plays(step);
    const { body } = await send({ workflow_id: workflowId, signal: 'answered' });
    const [value] = await waitFor('the signal', async () => {
      const found = await signals('answered');
      return found.length > 0 ? found : null;
    });
    const view = await waitFor('the delivery', async () => {
      const answer = await gateway.api.get(`/v1/reaches/${body.reach_id}`);
      return answer.body.reply?.status === 'delivered' && answer.body;
    });
    const { reply, ...rest } = view;
    expect(value).toEqual(rest);
    expect(value).toMatchObject({ reach_id: body.reach_id, status });
    expect(reply).toMatchObject({ id: expect.stringMatching(/-r$/), attempts: 1 });
    expect(await signals('answered')).toHaveLength(1);
    await handle.terminate();
  });

  it('and a callback are two deliveries of one end', async () => {
    const { workflowId, handle, signals } = await waitingWorkflow();
    const { body } = await send(
      { workflow_id: workflowId, signal: 'answered' },
      { callback: { url: 'http://127.0.0.1:1/' } },
    );
    await waitFor('both', async () => {
      const { body: view } = await gateway.api.get(`/v1/reaches/${body.reach_id}`);
      return view.reply?.status === 'delivered' && view.callback?.status === 'failed' && view;
    });
    expect(await signals('answered')).toHaveLength(1);
    await handle.terminate();
  });

  it.each(['never was', 'is over'])('that %s is on record, and not tried for ever', async (what) => {
    const { workflowId, handle } = await waitingWorkflow();
    if (what === 'is over') await handle.terminate();
    const target = what === 'is over' ? workflowId : `${workflowId}-2`;
    const { body, status } = await send({ workflow_id: target, signal: 'answered' });
    expect(status).toBe(200);
    const reply = await waitFor('the end of it', async () => {
      const { body: view } = await gateway.api.get(`/v1/reaches/${body.reach_id}`);
      return view.reply?.status === 'failed' && view.reply;
    });
    expect(reply).toMatchObject({ attempts: 1, last_error: { message: expect.stringContaining('does not run') } });
    if (what === 'never was') await handle.terminate();
  });
});

describe('a reply to a topic', () => {
  it('publishes the end of the reach to its subscribers, once', async () => {
    const topic = topicOf('ends');
    const listener = await startHttpAgent(gateway.api, { name: 'listener' });
    try {
      await subscribe(gateway.api, `s-${randomUUID()}`, { topic, agent: listener.name });
      agent.plays({ do: 'answer', output: { answer: 'told' } });
      const { body } = await send({ topic });
      const { call } = await waitFor('the event', () => listener.journal[0]);
      const { reply, ...view } = await waitFor('the delivery', async () => {
        const { body: found } = await gateway.api.get(`/v1/reaches/${body.reach_id}`);
        return found.reply?.status === 'delivered' && found;
      });
      expect(call.payload).toEqual(view);
      expect(call.event).toMatchObject({ topic, attributes: { id: reply.id, type: 'reach.completed' } });
      expect(listener.journal).toHaveLength(1);
    } finally {
      await listener.close();
    }
  });
});

describe('a reply that is refused', () => {
  const base32 = 'a'.repeat(32);
  it.each([
    ['a reach', { workflow_id: `r-${base32}`, signal: 'result' }, '/reply_to/workflow_id'],
    ['a publication', { workflow_id: `e-${base32}`, signal: 'x' }, '/reply_to/workflow_id'],
    ['a callback', { workflow_id: `cb-${base32}-${randomUUID()}`, signal: 'x' }, '/reply_to/workflow_id'],
    ["a workflow of Temporal's own", { workflow_id: 'temporal-sys-scheduler:x', signal: 'x' }, '/reply_to/workflow_id'],
    ['a signal kept by Temporal', { workflow_id: 'order', signal: '__temporal_x' }, '/reply_to/signal'],
    ['no signal', { workflow_id: 'order' }, '/reply_to/signal'],
    ['another namespace', { workflow_id: 'order', signal: 'x', namespace: 'other' }, '/reply_to/namespace'],
    ['both', { workflow_id: 'order', signal: 'x', topic: 'orders' }, '/reply_to/topic'],
    ['a pattern as topic', { topic: 'orders.*' }, '/reply_to/topic'],
    ['nothing', {}, undefined],
    ['a text', 'order', '/reply_to'],
  ])('names %s', async (_what, reply_to, pointer) => {
    const { status, body } = await send(reply_to);
    expect([status, body.code]).toEqual([400, 'invalid_request']);
    if (pointer) expect(body.errors.map((error: { pointer: string }) => error.pointer)).toContain(pointer);
    expect(agent.journal).toHaveLength(0);
  });
});

/** What happens to a callback when those who should tell it are interrupted. */
import { randomUUID } from 'node:crypto';
import { Client } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { NativeConnection, Worker } from '@temporalio/worker';
import type { InvokeInput, InvokeOutcome } from '../../workflows/messages';
import { verifyCallback } from '../../src/sdk/callback';
import { startGateway } from '../support/gateway';
import { reachInput } from '../support/reach-input';
import { startHttpAgent } from '../support/scripted-http-agent';
import { temporalAddress } from '../support/temporal';
import { waitFor } from '../support/wait-for';
import { startReceiver, type Receiver } from './receiver';

let receiver: Receiver;
const closers: (() => Promise<unknown>)[] = [];

beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
  await receiver.close();
});

it('a receiver that hangs holds up neither the end of the reach nor a shutdown; another worker tells it then', async () => {
  const config = { server: { graceful_timeout: '300ms' }, callbacks: { timeout: '30s', retry_schedule: ['1h'] } };
  const first = await startGateway({ config });
  closers.push(() => first.close());
  const agent = await startHttpAgent(first.api, { name: 'desk' });
  closers.push(() => agent.close());
  receiver.answers({ status: 0, hang: true }, 204);
  const { body, status, ms } = await first.api.reach({ ability: agent.ability, callback: { url: receiver.url() } });
  expect([status, body.status]).toEqual([200, 'completed']);
  expect(ms).toBeLessThan(10_000);
  const attempt = await receiver.nth(1);

  const started = performance.now();
  await first.close();
  expect(performance.now() - started).toBeLessThan(8_000);

  const second = await startGateway({ config, platform: first.platform });
  closers.push(() => second.close());
  const again = await receiver.nth(2);
  expect(again.headers['webhook-id']).toBe(attempt.headers['webhook-id']);
  expect(again.raw.equals(attempt.raw)).toBe(true);
  await waitFor('the delivery', async () => {
    const { body: view } = await second.api.get(`/v1/reaches/${body.reach_id}`);
    return view.callback?.status === 'delivered';
  });
});

it('a delivery that could not be begun changes no outcome, shows, and is begun by hand', async () => {
  const gateway = await startGateway();
  closers.push(() => gateway.close());
  const connection = await NativeConnection.connect({ address: temporalAddress() });
  closers.push(() => connection.close());
  const taskQueue = `no-notice-${randomUUID()}`;
  const activities = {
    invoke: async ({ agent_name, agent_version }: InvokeInput): Promise<InvokeOutcome> => {
      const at = new Date().toISOString();
      const attempt = {
        n: 1,
        agent_name,
        agent_version,
        instance: 'i-1',
        started_at: at,
        duration_ms: 1,
        received: 'yes',
      } as const;
      return { kind: 'answer', output: { answer: 'ok' }, instance: 'i-1', attempts: [attempt] };
    },
    notify: async () => {
      throw ApplicationFailure.nonRetryable('Temporal takes no new workflows');
    },
  };
  const worker = await Worker.create({
    connection,
    taskQueue,
    activities,
    workflowBundle: { codePath: process.env.AGENT_REACH_WORKFLOW_BUNDLE ?? '' },
  });
  const reachId = `r-${randomUUID()
    .replaceAll('-', '')
    .replace(/[0189]/g, 'z')}`;
  const input = reachInput({ envelope: { callback: { url: receiver.url() } } });
  const memo = { message_id: 'm-1', trace_id: input.trace_id, fingerprint: 'f', notify: ['callback'] };
  const client = new Client({ connection });
  await worker.runUntil(() =>
    client.workflow.execute('reach', { workflowId: reachId, taskQueue, args: [input], memo }),
  );

  const { body } = await gateway.api.get(`/v1/reaches/${reachId}`);
  expect(body).toMatchObject({ status: 'completed', callback: { status: 'not_started', attempts: 0 } });
  expect((await gateway.api.get(`/v1/callbacks/${body.callback.id}`)).status).toBe(404);
  const redriven = await gateway.api.post(`/v1/callbacks/${body.callback.id}:redrive`);
  expect([redriven.status, redriven.body]).toMatchObject([202, { id: body.callback.id, replayed: false }]);
  const { body: secret } = await gateway.api.get('/v1/callbacks/secret');
  const got = await receiver.nth(1);
  expect(verifyCallback(got.raw, got.headers, secret.secret)).toMatchObject({
    id: body.callback.id,
    type: 'reach.completed',
    data: { reach_id: reachId, output: { answer: 'ok' } },
  });
});

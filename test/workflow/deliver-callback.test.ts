import { randomUUID } from 'node:crypto';
import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import { createDeliveryActivities, type DeliveryDependencies } from '../../activities/deliver-callback';
import { loadConfig } from '../../src/config';
import { ensureEngine } from '../../src/engines';
import type { DeliverCallbackInput, DeliveryDone } from '../../workflows/messages';
import { workflowBundle } from '../support/temporal';

/** The default schedule, which takes more than a day, on a server that skips the waits. */
describe('deliverCallback over a day', () => {
  let env: TestWorkflowEnvironment;
  let worker: Worker;
  let running: Promise<void>;
  let post: DeliveryDependencies['post'];
  let attempts: number[];
  const taskQueue = `callbacks-${randomUUID()}`;
  const { callbacks } = loadConfig({});

  beforeAll(async () => {
    workflowBundle(); // sets the runtime up, which can be done once
    const { path } = await ensureEngine('temporal-test-server');
    env = await TestWorkflowEnvironment.createTimeSkipping({ server: { executable: { type: 'existing-path', path } } });
    const end = { endedAt: '2026-05-04T08:30:00.000Z', status: 'completed', view: {} };
    const activities = createDeliveryActivities({
      start: async () => undefined,
      readEnd: async () => end,
      post: async (request) => {
        attempts.push(await env.currentTimeMs());
        return post(request);
      },
      reply: async () => undefined,
      attempted: () => undefined,
      random: () => 0,
    });
    worker = await Worker.create({
      connection: env.nativeConnection,
      taskQueue,
      workflowBundle: workflowBundle(),
      activities,
    });
    running = worker.run();
  });
  afterAll(async () => {
    worker.shutdown();
    await running;
    await env.teardown();
  });
  beforeEach(() => {
    attempts = [];
  });

  const input = (more: Partial<DeliverCallbackInput> = {}): DeliverCallbackInput => ({
    id: 'cb-1',
    reach_id: 'r-1',
    run_id: 'run',
    to: { url: 'https://example.com/' },
    delays_ms: callbacks.retry_schedule,
    timeout_ms: callbacks.timeout,
    max_age_ms: callbacks.max_age,
    task_queue: taskQueue,
    ...more,
  });
  const deliver = (more: Partial<DeliverCallbackInput> = {}) =>
    env.client.workflow.execute('deliverCallback', {
      workflowId: `cb-${randomUUID()}`,
      taskQueue,
      args: [input(more)],
    }) as Promise<DeliveryDone>;
  const failureOf = async (more: Partial<DeliverCallbackInput> = {}) => {
    const error = await deliver(more).then(
      () => Promise.reject(new Error('it was delivered')),
      (caught: unknown) => caught,
    );
    if (!(error instanceof WorkflowFailedError) || !(error.cause instanceof ApplicationFailure)) throw error;
    return error.cause;
  };
  /** Seconds between attempts. */
  const waits = () => attempts.slice(1).map((at, index) => Math.round((at - attempts[index]!) / 1_000));
  /** Never sooner; the server's clock goes on while a busy machine takes its time. */
  const expectAbout = (wait: number, expected: number) => {
    expect(wait).toBeGreaterThanOrEqual(expected - 1);
    expect(wait).toBeLessThanOrEqual(expected + 15);
  };

  it('tries after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 10 h, and then gives up', async () => {
    post = async () => ({ status: 503 });
    expect(await failureOf()).toMatchObject({
      type: 'undeliverable',
      message: 'The receiver answered 503',
      details: [{ attempts: 8, http_status: 503 }],
    });
    const expected = [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000];
    expect(waits()).toHaveLength(expected.length);
    waits().forEach((wait, index) => expectAbout(wait, expected[index]!));
  });

  it('arrives when the receiver is back after hours', async () => {
    post = async () => ({ status: attempts.length < 6 ? 500 : 200 });
    expect(await deliver()).toEqual({ attempts: 6 });
  });

  it('takes longer when it is asked to, and not much longer', async () => {
    post = async () => (attempts.length === 1 ? { status: 429, retryAfterMs: 600_000 } : { status: 204 });
    await deliver();
    expectAbout(waits()[0]!, 600);
  });

  it('ends at once where another attempt would be as vain', async () => {
    post = async () => ({ status: 410 });
    expect(await failureOf()).toMatchObject({ details: [{ attempts: 1, http_status: 410 }] });
    expect(attempts).toHaveLength(1);
  });

  it('ends at its maximum age, with what the last attempt said', async () => {
    post = async () => ({ status: 500 });
    expect(await failureOf({ max_age_ms: 3_600_000 })).toMatchObject({ details: [{ http_status: 500 }] });
    expect(attempts.length).toBeLessThan(8);
  });
});

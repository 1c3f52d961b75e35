import { randomBytes, randomUUID } from 'node:crypto';
import { Writable } from 'node:stream';
import { Client, Connection } from '@temporalio/client';
import { pino } from 'pino';
import { Webhook } from 'standardwebhooks';
import { loadConfig } from '../../src/config';
import { serve, type RunningGateway } from '../../src/serve';
import { Api } from '../support/api';
import { gatewaySettings, startGateway } from '../support/gateway';
import { startHttpAgent } from '../support/scripted-http-agent';
import { temporalAddress } from '../support/temporal';
import { waitFor } from '../support/wait-for';
import { startReceiver, type Receiver } from './receiver';

let receiver: Receiver;
const closers: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  receiver = await startReceiver();
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});
afterAll(() => receiver.close());

const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`;

/** A gateway whose every log line, at the finest level, is kept. */
async function gatewayWith(
  callbacks: Record<string, unknown>,
  env: Record<string, string> = {},
): Promise<{ api: Api; log: () => string; running: RunningGateway }> {
  const lines: string[] = [];
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString());
      done();
    },
  });
  const settings = gatewaySettings({ platform: `test-${randomUUID()}`, config: { callbacks } });
  Object.assign(process.env, env);
  closers.push(async () => Object.keys(env).forEach((name) => delete process.env[name]));
  const running = await serve(loadConfig({ overrides: settings }), {
    logger: pino({ level: 'trace' }, sink),
    apiKey: null,
  });
  closers.push(() => running.close());
  const api = new Api(running.url);
  closers.push(() => api.close());
  return { api, running, log: () => lines.join('') };
}

async function toldBy(api: Api, path: string, step: 'answer' | 'fail' = 'answer') {
  const agent = await startHttpAgent(api, { name: 'desk', endpoint: { max_retry: 0 } });
  closers.push(() => agent.close());
  if (step === 'fail') agent.plays({ do: 'reject', message: 'no' });
  const { body } = await api.reach({ ability: agent.ability, callback: { url: receiver.url(path) } });
  return { reachId: body.reach_id as string, got: await receiver.nth(1, path) };
}

describe('the secret', () => {
  it('that is configured signs, with the one before it too while they rotate, and is shown to nobody', async () => {
    const [current, previous] = [newSecret(), newSecret()];
    const { api } = await gatewayWith(
      { secret_env: 'TEST_HOOK_NEW', previous_secret_env: 'TEST_HOOK_OLD' },
      { TEST_HOOK_NEW: current, TEST_HOOK_OLD: previous },
    );
    const { got } = await toldBy(api, `/rotation-${randomUUID()}`);
    const headers = got.headers as Record<string, string>;
    expect(headers['webhook-signature']!.split(' ')).toHaveLength(2);
    for (const secret of [current, previous])
      expect(new Webhook(secret).verify(got.raw, headers)).toMatchObject({ type: 'reach.completed' });
    expect(() => new Webhook(newSecret()).verify(got.raw, headers)).toThrow('No matching signature');
    expect((await api.get('/v1/callbacks/secret')).body).toEqual({ source: 'configured' });
  });

  it('appears in no history, log line, metric or answer', async () => {
    const secret = newSecret();
    const needle = secret.slice('whsec_'.length);
    const { api, log } = await gatewayWith(
      { secret_env: 'TEST_HOOK_CANARY', retry_schedule: ['50ms'] },
      { TEST_HOOK_CANARY: secret },
    );
    receiver.answers(500, 204);
    const path = `/canary-${randomUUID()}`;
    const { reachId } = await toldBy(api, path, 'fail');
    const { id } = await waitFor('the delivery', async () => {
      const { body } = await api.get(`/v1/reaches/${reachId}`);
      return body.callback?.status === 'delivered' && body.callback;
    });
    const connection = await Connection.connect({ address: temporalAddress() });
    closers.push(() => connection.close());
    const client = new Client({ connection });
    const histories = await Promise.all(
      [reachId, id].map(async (workflowId) => {
        const handle = client.workflow.getHandle(workflowId);
        return JSON.stringify([await handle.fetchHistory(), await handle.describe()], (_key, value: unknown) =>
          value instanceof Uint8Array ? Buffer.from(value).toString() : value,
        );
      }),
    );
    // What is looked for is there at all: the histories are readable, and name the receiver.
    expect(histories.join()).toContain(receiver.url(path));
    const answers = [
      '/v1/callbacks/secret',
      '/v1/callbacks',
      `/v1/callbacks/${id}`,
      `/v1/dead-letters/${reachId}`,
      '/metrics',
    ];
    const texts = await Promise.all(answers.map(async (path) => (await api.get(path)).text));
    expect(texts.at(-1)).toContain('agent_reach_callback_attempts_total');
    expect(log().length).toBeGreaterThan(0);
    for (const text of [...histories, ...texts, log()]) {
      expect(text).not.toContain(needle);
      expect(text).not.toContain(Buffer.from(needle, 'base64').toString('hex'));
    }
  });

  it('that the platform made is the same for all its gateways, and needs the API key to be read', async () => {
    const first = await startGateway({ apiKey: 'k-1', withWorker: false });
    closers.push(() => first.close());
    const second = await startGateway({ apiKey: 'k-1', withWorker: false, platform: first.platform });
    closers.push(() => second.close());
    const { body, headers } = await first.api.get('/v1/callbacks/secret');
    expect(body).toEqual({ source: 'generated', secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/) });
    expect(headers['cache-control']).toBe('no-store');
    expect((await second.api.get('/v1/callbacks/secret')).body).toEqual(body);
    const stranger = new Api(first.url);
    closers.push(() => stranger.close());
    for (const path of ['/v1/callbacks/secret', '/v1/callbacks', '/v1/callbacks/cb-x'])
      expect((await stranger.get(path)).status).toBe(401);
    const withToken = await stranger.get('/v1/callbacks/secret', { headers: { 'x-reach-token': 'x.y.z' } });
    expect(withToken.status).toBe(401);
  });

  it.each([
    ['is not set', undefined],
    ['has no prefix', 'c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0'],
    ['is too short', `whsec_${Buffer.alloc(8).toString('base64')}`],
    ['is no base64', `whsec_${'?'.repeat(40)}`],
  ])('that %s keeps the gateway from starting, and is not quoted', async (_what, value) => {
    const starting = gatewayWith({ secret_env: 'TEST_HOOK_BAD' }, value === undefined ? {} : { TEST_HOOK_BAD: value });
    const error = await starting.then(
      () => new Error('it started'),
      (caught: Error) => caught,
    );
    expect(error.message).toContain('TEST_HOOK_BAD');
    if (value) expect(error.message).not.toContain(value);
  });

  it.each([
    [{ previous_secret_env: 'OLD' }, '/callbacks/previous_secret_env'],
    [{ timeout: 0 }, '/callbacks/timeout'],
    [{ timeout: '1m', max_age: '30s' }, '/callbacks/max_age'],
    [{ retry_schedule: ['soon'] }, '/callbacks/retry_schedule/0'],
    [{ secret: 'whsec_x' }, '/callbacks/secret'],
  ])('and its schedule are checked before anything runs: %j', (callbacks, pointer) => {
    const load = () => loadConfig({ overrides: { callbacks } });
    expect(load).toThrow(
      expect.objectContaining({
        options: expect.objectContaining({ errors: expect.arrayContaining([expect.objectContaining({ pointer })]) }),
      }),
    );
  });
});

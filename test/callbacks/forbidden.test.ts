/**
 * Callbacks that point inside: at submit by the address as written, at delivery by what the name resolves to. The agent pulls,
 * so that no address of its own has to be allowed.
 */
import type * as dnsModule from 'node:dns';
import type { LookupAddress } from 'node:dns';
import { startGateway, type TestGateway } from '../support/gateway';
import type { ScriptedAgent } from '../support/scripted-agent';
import { startWorkerAgent } from '../support/scripted-worker-agent';
import { waitFor } from '../support/wait-for';
import { startReceiver, type Receiver } from './receiver';

type LookupCallback = (error: Error | null, addresses: LookupAddress[]) => void;

/** What the names of this suite resolve to, lookup by lookup; the last answer for ever. */
const mockNames = new Map<string, string[][]>();
const mockLookups: string[] = [];
jest.mock('node:dns', () => {
  const dns = jest.requireActual<typeof dnsModule>('node:dns');
  return {
    ...dns,
    lookup: (host: string, options: object, callback: LookupCallback) => {
      const answers = mockNames.get(host);
      if (!answers) return dns.lookup(host, options, callback as never);
      mockLookups.push(host);
      const addresses = (answers.length > 1 ? answers.shift() : answers[0]) ?? [];
      callback(
        null,
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      );
    },
  };
});

/** Stands for a public address: the one that may be called. */
const OUTSIDE = '127.0.0.2';

let gateway: TestGateway;
let agent: ScriptedAgent;
let receiver: Receiver;

beforeAll(async () => {
  gateway = await startGateway({
    config: {
      security: { egress_allow: [`${OUTSIDE}/32`] },
      callbacks: { retry_schedule: ['50ms', '50ms'], timeout: '20s' },
    },
  });
  agent = await startWorkerAgent(gateway.api, { name: 'puller' });
  receiver = await startReceiver();
});
afterAll(async () => {
  await receiver.close();
  await agent.close();
  await gateway.close();
});
beforeEach(() => agent.plays());

const send = (callback: unknown) => gateway.api.reach({ ability: agent.ability, callback });
const told = (reachId: string, status: string) =>
  waitFor(`the ${status} callback of ${reachId}`, async () => {
    const { body } = await gateway.api.get(`/v1/reaches/${reachId}`);
    return body.callback?.status === status ? body.callback : undefined;
  });

describe('as written', () => {
  /** PORT: where somebody listens, so that a connection would be seen. */
  it.each([
    'http://127.0.0.1:PORT/',
    'http://2130706433:PORT/',
    'http://0x7f000001:PORT/',
    'http://0177.0.0.1:PORT/',
    'http://127.1:PORT/',
    'http://①②⑦.0.0.1:PORT/',
    'http://localhost.:PORT/',
    'http://localhost:PORT/',
    'http://a.localhost:PORT/',
    'http://0:PORT/',
    'http://[::1]:PORT/',
    'http://[::ffff:7f00:1]:PORT/',
    'http://[64:ff9b::7f00:1]:PORT/',
    'http://169.254.169.254/latest/',
    'http://[fd00::1]/',
    'http://100.64.0.1/',
    'http://10.0.0.1/',
    'http://user:pw@example.com/',
    'https://user@example.com/',
    'file:///etc/passwd',
    'gopher://x/',
    'ftp://example.com/',
    'javascript:alert(1)',
    'data:text/plain,x',
    'http://example.com:6379/',
    'example.com/hook',
    '//example.com/hook',
    'http://',
  ])('%s is refused at submit: nobody is called and no socket is opened', async (written) => {
    const url = written.replace('PORT', new URL(receiver.url()).port);
    const answer = await send({ url });
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({
      code: 'callback_url_forbidden',
      retryable: false,
      errors: [{ pointer: '/callback/url', message: expect.any(String), fix: expect.stringContaining('egress_allow') }],
    });
    expect(answer.headers).not.toHaveProperty('x-reach-id');
    expect(agent.journal).toHaveLength(0);
    expect(receiver.connections).toBe(0);
  });

  it.each([
    ['nothing', {}, '/callback/url'],
    ['an unknown key', { url: 'https://example.com/', urls: [] }, '/callback/urls'],
    ['an address that is no text', { url: 5 }, '/callback/url'],
    ['an empty one', { url: '' }, '/callback/url'],
    ['one with a line break', { url: 'https://example.com/\r\nx' }, '/callback/url'],
    ['one without end', { url: `https://example.com/${'a'.repeat(2_048)}` }, '/callback/url'],
    ['a bare text', 'https://example.com/', '/callback'],
    [
      'a way to widen what is allowed',
      { url: 'http://10.0.0.1/', egress_allow: ['10.0.0.0/8'] },
      '/callback/egress_allow',
    ],
  ])('%s is refused by its place', async (_what, callback, pointer) => {
    const { status, body } = await send(callback);
    expect([status, body.code]).toEqual([400, 'invalid_request']);
    expect(body.errors.map((error: { pointer: string }) => error.pointer)).toContain(pointer);
    expect(agent.journal).toHaveLength(0);
  });
});

describe('at delivery', () => {
  it.each([
    ['127.0.0.1'],
    ['::1'],
    ['10.1.2.3'],
    ['169.254.169.254'],
    ['::ffff:127.0.0.1'],
    ['64:ff9b::7f00:1'],
    ['fd00::1'],
  ])('a name that resolves to %s is not connected to', async (address) => {
    const host = `inside-${address.replace(/[^\da-f]/g, '-')}.test`;
    mockNames.set(host, [[address]]);
    const { status, body } = await send({ url: receiver.url('/hook', host) });
    expect(status).toBe(200);
    const { last_error, attempts } = await told(body.reach_id, 'failed');
    expect(last_error.message).toContain('resolves to an address that may not be called');
    expect(last_error.message).not.toContain(address);
    // An answer that points inside is no passing trouble.
    expect(attempts).toBe(1);
    expect(receiver.connections).toBe(0);
  });

  it('goes to the address that was judged: a name that points elsewhere a moment later is judged again', async () => {
    const outside = await startReceiver({ host: OUTSIDE, port: Number(new URL(receiver.url()).port) });
    try {
      // One connection for each attempt, so one lookup; the second answer points inside.
      outside.answers({ status: 503, headers: { connection: 'close' } });
      mockNames.set('rebinds.test', [[OUTSIDE], ['127.0.0.1']]);
      mockLookups.length = 0;
      const { body } = await send({ url: receiver.url('/rebinds', 'rebinds.test') });
      expect(await told(body.reach_id, 'failed')).toMatchObject({
        attempts: 2,
        last_error: { message: expect.stringContaining('may not be called') },
      });
      expect(mockLookups).toEqual(['rebinds.test', 'rebinds.test']);
      expect([outside.received.length, receiver.connections]).toEqual([1, 0]);
    } finally {
      await outside.close();
    }
  });

  it('uses only those addresses of a name that may be called', async () => {
    const outside = await startReceiver({ host: OUTSIDE, port: Number(new URL(receiver.url()).port) });
    try {
      mockNames.set('mixed.test', [['127.0.0.1', '10.0.0.1', OUTSIDE]]);
      const { body } = await send({ url: receiver.url('/mixed', 'mixed.test') });
      await told(body.reach_id, 'delivered');
      expect([outside.at('/mixed').length, receiver.connections]).toEqual([1, 0]);
    } finally {
      await outside.close();
    }
  });
});

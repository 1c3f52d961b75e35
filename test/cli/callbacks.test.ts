import { randomUUID } from 'node:crypto';
import { startReceiver, type Receiver } from '../callbacks/receiver';
import { startGateway, type TestGateway } from '../support/gateway';
import { startHttpAgent, type ScriptedHttpAgent } from '../support/scripted-http-agent';
import { waitFor } from '../support/wait-for';
import { verifyCallback } from '../../src/sdk/callback';
import { cli } from './cli-io';

let gateway: TestGateway;
let agent: ScriptedHttpAgent;
let receiver: Receiver;

beforeAll(async () => {
  gateway = await startGateway({
    apiKey: 'canary-71aa',
    config: { callbacks: { retry_schedule: ['50ms'], timeout: '20s' } },
  });
  agent = await startHttpAgent(gateway.api, { name: 'desk', endpoint: { max_retry: 0 } });
  receiver = await startReceiver();
});
afterAll(async () => {
  await receiver.close();
  await agent.close();
  await gateway.close();
});

const run = (args: string[]) =>
  cli(args, { env: { AGENT_REACH_URL: gateway.url, AGENT_REACH_API_KEY: 'canary-71aa' } });
const json = async (args: string[]) => JSON.parse((await run([...args, '--json'])).out);

it('asks for a callback, shows that it failed, tells once more, and hands out what verifies it', async () => {
  receiver.answers(500);
  const path = `/cli-${randomUUID()}`;
  const { reach_id } = await json(['invoke', agent.ability, '--callback', receiver.url(path)]);
  const [failed] = await waitFor('it in the list', async () => {
    const { items } = await json(['callbacks', 'list', '--failed', '--reach', reach_id]);
    return items.length > 0 ? items : null;
  });
  const list = await run(['callbacks', 'list', '--state', 'failed', '--reach', reach_id]);
  expect(list.out).toMatch(/^CALLBACK\s+STATE\s+REACH\s+ATTEMPTS\s+SINCE\s+TO\s+WHY$/m);
  expect(list.out).toMatch(
    new RegExp(`^${failed.id}\\s+failed\\s+${reach_id}\\s+2\\s.*The receiver answered 500$`, 'm'),
  );
  const shown = await run(['callbacks', 'show', failed.id]);
  expect(shown.out).toMatch(/attempts\s+2/);
  expect(shown.out).toContain(receiver.url(path));

  receiver.answers(204);
  const redriven = await run(['callbacks', 'redrive', failed.id]);
  expect([redriven.code, redriven.out]).toEqual([0, expect.stringContaining('on its way again')]);
  const got = await receiver.nth(3, path);
  const secret = (await run(['callbacks', 'secret'])).out.trim();
  expect(verifyCallback(got.raw, got.headers, secret)).toMatchObject({ id: failed.id, type: 'reach.completed' });
  await waitFor('the delivery', async () => (await json(['callbacks', 'show', failed.id])).status === 'delivered');
  expect((await run(['callbacks', 'redrive', failed.id])).out).toContain('is delivered already');

  const unknown = `cb-${'a'.repeat(32)}-r`;
  const some = await run(['callbacks', 'redrive', unknown, failed.id]);
  expect([some.code, some.out]).toEqual([1, expect.stringMatching(/✗ cb-a+-r .*\n✓ .* is delivered already/)]);
  expect((await json(['callbacks', 'redrive', unknown, failed.id])).items).toEqual([
    { id: unknown, error: expect.objectContaining({ code: 'not_found' }) },
    expect.objectContaining({ id: failed.id }),
  ]);
});

it.each([
  [['--reply-to-workflow', 'order-1'], 'go together'],
  [['--reply-to-signal', 'answered'], 'go together'],
  [['--reply-to-topic', 'a', '--reply-to-workflow', 'order-1', '--reply-to-signal', 's'], 'either'],
])('refuses half an address: %j', async (options, why) => {
  const { code, err } = await run(['send', agent.ability, ...options]);
  expect([code, err]).toEqual([2, expect.stringContaining(why)]);
});

it('says 404 of one that is not there', async () => {
  const { code, err } = await run(['callbacks', 'show', 'cb-nothing']);
  expect([code, err]).toEqual([1, expect.stringContaining('There is no callback with this id')]);
});

it('refuses an address that may not be called before anything is sent', async () => {
  const { code, err } = await run(['send', agent.ability, '--callback', 'http://10.0.0.1/']);
  expect([code, err]).toEqual([1, expect.stringContaining('egress_allow')]);
});

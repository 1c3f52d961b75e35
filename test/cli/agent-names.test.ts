/** `NAME#VERSION`, as tables print agents, wherever a command takes the name of one. */
import { ScriptedGateway, type Reply } from '../sdk/scripted-gateway';
import { cli } from './cli-io';

let gateway: ScriptedGateway;
let reply: Reply;

beforeAll(async () => void (gateway = await ScriptedGateway.start(() => reply)));
afterAll(() => gateway.close());
beforeEach(() => void gateway.seen.splice(0));

function reach(args: readonly string[], body: object = { items: [] }) {
  reply = { status: 200, body };
  return cli(args, { env: { AGENT_REACH_URL: gateway.url } });
}

const asked = () =>
  gateway.seen.map(({ method, path, query, json }) => [
    method,
    `${path}${query.size > 0 ? `?${query}` : ''}`,
    json ?? null,
  ]);
const BREAKER = '/v1/agents/refund_agent/abilities/refund/breaker';

describe('breakers', () => {
  const target = ['refund_agent#1.2.0', 'refund'];

  it.each([
    ['open', 'open'],
    ['close', 'closed'],
  ])('%s pins the version', async (command, state) => {
    expect((await reach(['breakers', command, ...target, '--reason', 'x'])).code).toBe(0);
    expect(asked()).toEqual([['PUT', BREAKER, { state, reason: 'x', version: '1.2.0' }]]);
  });

  it('auto pins it too', async () => {
    expect((await reach(['breakers', 'auto', ...target])).code).toBe(0);
    expect(asked()).toEqual([['DELETE', `${BREAKER}?version=1.2.0`, null]]);
  });

  it('still takes a name alone, and the version as an option', async () => {
    await reach(['breakers', 'open', 'refund_agent', 'refund', '--reason', 'x']);
    await reach(['breakers', 'auto', 'refund_agent', 'refund', '--agent-version', '1.2.0']);
    expect(asked()).toEqual([
      ['PUT', BREAKER, { state: 'open', reason: 'x' }],
      ['DELETE', `${BREAKER}?version=1.2.0`, null],
    ]);
  });

  it.each([['refund_agent#1.2'], ['#1.2.0'], ['refund_agent#1.2.0', '--agent-version', '1.3.0']])(
    '%j … sends nothing',
    async (agent, ...more) => {
      expect((await reach(['breakers', 'auto', agent, 'refund', ...more])).code).toBe(2);
      expect(asked()).toEqual([]);
    },
  );
});

const version = (text: string) => ({
  version: text,
  registered_at: '2026-03-01T12:00:00Z',
  descriptor: { description: `refunds ${text}`, accepted_message_types: ['task'] },
});
const instance = (text: string) => ({
  instance_id: `i-${text}`,
  version: text,
  status: 'ready',
  status_reason: 'reported ready',
  since: '2026-03-01T12:00:00Z',
  in_flight: 0,
  max_concurrency: 1,
  health: 'passing',
});
const AGENT = {
  name: 'refund_agent',
  versions: [version('1.3.0'), version('1.2.0')],
  instances: [instance('1.3.0'), instance('1.2.0')],
  abilities: ['1.3.0', '1.2.0'].map((agent_version) => ({ name: 'refund', agent_version, description: agent_version })),
  stats: { requests: 3, in_flight: 0, p50_ms: 1, p95_ms: 1, p99_ms: 1, failure_rate: 0 },
  status: 'ready',
};

describe('agents', () => {
  it('shows one version, and says what is measured of all', async () => {
    const { code, out } = await reach(['agents', 'refund_agent#1.2.0'], AGENT);
    expect([code, asked()]).toEqual([0, [['GET', '/v1/agents/refund_agent', null]]]);
    expect(out).toContain('refunds 1.2.0');
    expect(out).toContain('i-1.2.0');
    expect(out).not.toContain('1.3.0');
    expect(out).toContain('requests, all versions');
    const { versions, instances, abilities } = JSON.parse(
      (await reach(['agents', 'refund_agent#1.2.0', '--json'], AGENT)).out,
    );
    expect([versions.length, instances.length, abilities.length]).toEqual([1, 1, 1]);
    expect((await reach(['agents', 'refund_agent'], AGENT)).out).not.toContain('all versions');
  });

  it('says which versions there are instead', async () => {
    const { code, err } = await reach(['agents', 'refund_agent#9.0.0'], AGENT);
    expect(code).toBe(1);
    expect(err).toContain('There is no version 9.0.0 of refund_agent; there is 1.3.0, 1.2.0');
  });
});

it('routes list takes both', async () => {
  const route = (to: string) => ({ ability: 'refund', from: 'default', to, weight: 1 });
  const routes = [route('refund_agent#1.3.0'), route('refund_agent#1.2.0'), route('other#1.2.0')];
  const listed = async (agent: string) => {
    const { out } = await reach(['routes', 'list', '--agent', agent, '--json'], { routes });
    return JSON.parse(out).routes.map(({ to }: { to: string }) => to);
  };
  expect(await listed('refund_agent')).toEqual(['refund_agent#1.3.0', 'refund_agent#1.2.0']);
  expect(await listed('refund_agent#v1.2.0')).toEqual(['refund_agent#1.2.0']);
});

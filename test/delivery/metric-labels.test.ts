/** M05: what strangers send never becomes a metric's label. */
import { randomBytes } from 'node:crypto';
import { startGateway, type TestGateway } from '../support/gateway';
import { startHttpAgent, type ScriptedHttpAgent } from '../support/scripted-http-agent';

jest.setTimeout(180_000);

let gateway: TestGateway;
let agent: ScriptedHttpAgent;

beforeAll(async () => {
  gateway = await startGateway({ config: { breaker: { enabled: false } } });
  agent = await startHttpAgent(gateway.api, { name: 'measured', endpoint: { max_retry: 0 } });
});
afterAll(async () => {
  await agent.close();
  await gateway.close();
});

const random = () => randomBytes(8).toString('hex');
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'PROPFIND'] as const;

/** The n-th odd request. */
function odd(n: number): Promise<{ status: number }> {
  const { api } = gateway;
  const method = METHODS[n % METHODS.length]!;
  switch (n % 7) {
    case 0:
      return api.raw(method, `/${random()}/${random()}`, undefined);
    case 1:
      return api.get(
        `/v1/reaches/r-${random()
          .repeat(2)
          .replaceAll(/[0189]/g, 'a')}`,
      );
    case 2:
      return api.reach({ ability: `unknown-${random()}` });
    case 3:
      return api.raw(method, `/v1/${random()}`, undefined, {
        headers: { 'x-tenant': random(), 'x-api-key': random() },
      });
    case 4:
      return api.reach({ target_agent: `nobody-${random()}`, source_agent: random() });
    case 5:
      return api.get(`/v1/agents/${random()}?${random()}=${random()}`);
    default:
      return api.post(`/v1/reaches/${random()}:${random()}`);
  }
}

/** Label sets of every sample: `name{labels}`. */
async function series(): Promise<string[]> {
  const { text } = await gateway.api.get('/metrics');
  // Which kinds of collections Node makes is Node's affair; there are a handful.
  const ours = (line: string) => line !== '' && !line.startsWith('#') && !line.startsWith('nodejs_gc');
  return text.split('\n').filter(ours);
}

async function inBatches(count: number, run: (n: number) => Promise<unknown>): Promise<void> {
  for (let n = 0; n < count; n += 10) await Promise.all(Array.from({ length: 10 }, (_, i) => run(n + i)));
}

it('2,000 odd requests and 500 error texts of an agent add fewer than 30 lines', async () => {
  // What a normal day has already: one of each kind.
  await inBatches(300, odd);
  agent.plays({ do: 'fail', message: 'once' });
  await gateway.api.reach({ ability: agent.ability });
  const before = await series();

  await inBatches(2_000, odd);
  await inBatches(500, async (n) => {
    agent.playsFor(`e-${n}`, { do: 'fail', message: `error ${random()} "quoted"\\ line\nbreak` });
    await gateway.api.reach({ ability: agent.ability, payload: { case: `e-${n}` } });
  });

  expect(agent.journal.length).toBeGreaterThanOrEqual(400);
  const nameOf = (line: string) => line.slice(0, line.lastIndexOf(' '));
  const known = new Set(before.map(nameOf));
  const added = (await series()).map(nameOf).filter((name) => !known.has(name));
  // Shows what came when it is too much.
  expect(added.length < 30 ? [] : added).toEqual([]);
});

it('routes are templates or `unmatched`, methods and codes are from closed lists', async () => {
  const lines = (await series()).filter((line) => line.startsWith('agent_reach_http_requests_total{'));
  const labels = lines.map((line) =>
    Object.fromEntries([...line.matchAll(/(\w+)="([^"]*)"/g)].map(([, k, v]) => [k!, v!])),
  );
  const routes = new Set(labels.map(({ route }) => route!));
  expect(routes).toContain('unmatched');
  expect(routes).toContain('/v1/reaches/:id');
  for (const route of routes) expect(route).toMatch(/^(unmatched|\/|(\/[a-z0-9:_.-]+)+)$/);
  for (const route of routes) expect(route).not.toMatch(/[0-9a-f]{16}/);
  for (const { method } of labels) expect([...METHODS.slice(0, -1), 'other']).toContain(method);
});

it('what an agent says is in no label', async () => {
  const { text } = await gateway.api.get('/metrics');
  expect(text).not.toContain('quoted');
  expect(text).not.toMatch(/unknown-[0-9a-f]{16}|nobody-[0-9a-f]{16}/);
});

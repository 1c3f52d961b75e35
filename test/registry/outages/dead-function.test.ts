import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startGateway, type TestGateway } from '../../support/gateway';
import { registerDescriptor } from '../../support/scripted-agent';
import { waitFor } from '../../support/wait-for';

const ABILITIES = ['half.dead', 'half.gone'];
const PATH = '/v1/agents/half/instances/pod';
let gateway: TestGateway;
let server: Server;
let health = 200;

beforeAll(async () => {
  gateway = await startGateway();
  server = createServer((request, response) => {
    if (request.url === '/ready') return void response.writeHead(health).end();
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"answer":"yes"}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await gateway?.close();
});

const reachAll = () => Promise.all(ABILITIES.map((ability) => gateway.api.reach({ ability })));

it('heartbeats that go on do not hide a dead function; it is routed again when it recovers, with every ability (R04)', async () => {
  await registerDescriptor(gateway.api, {
    name: 'half',
    version: '1.0.0',
    capabilities: ABILITIES,
    endpoint: { protocol: 'http' },
    health_check: { interval_sec: 1, timeout_sec: 1, path: '/ready' },
  });
  const host = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const { body: lease } = await gateway.api.put(PATH, { version: '1.0.0', ttl_sec: 30, host });
  const beat = () => gateway.api.post(`${PATH}/heartbeat`, { epoch: lease.epoch, status: 'ready', load: 0 });
  await waitFor('both abilities', async () => (await reachAll()).every(({ status }) => status === 200));
  health = 500;
  const refused = await waitFor(
    'being unrouted',
    async () => {
      expect((await beat()).status).toBe(200);
      const answers = await reachAll();
      return answers.every(({ status }) => status === 503) ? answers : null;
    },
    15_000,
  );
  for (const { body } of refused) expect(body).toMatchObject({ retryable: true });
  const { body: shown } = await gateway.api.get('/v1/agents/half');
  expect(shown.instances).toMatchObject([
    { instance_id: 'pod', status: 'unavailable', health: 'failing', lease_remaining_sec: expect.any(Number) },
  ]);
  expect(shown.instances[0].lease_remaining_sec).toBeGreaterThan(20);
  health = 200;
  await waitFor('being routed again', async () => (await reachAll()).every(({ status }) => status === 200), 15_000);
  // The same registration throughout.
  expect((await beat()).status).toBe(200);
});

/** A busy agent is no sick one: health checks do not wait behind its calls (R14). */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { registerDescriptor } from '../../support/scripted-agent';
import { startGateway, type TestGateway } from '../../support/gateway';
import { waitFor } from '../../support/wait-for';

let gateway: TestGateway;
// One connection stands for all that there may be.
beforeAll(async () => (gateway = await startGateway({ config: { adapter: { connections_per_agent: 1 } } })));
afterAll(() => gateway.close());

it('health checks go on while calls take every connection', async () => {
  let checks = 0;
  let answer: (() => void) | undefined;
  const agent = createServer((request, response) => {
    if (request.method === 'POST') return void (answer = () => response.end('{"answer":"late"}'));
    checks += 1;
    return void response.end('ok');
  });
  await new Promise<void>((resolve) => agent.listen(0, '127.0.0.1', resolve));
  await registerDescriptor(gateway.api, {
    name: 'busy',
    version: '1.0.0',
    capabilities: ['busy.work'],
    endpoint: {
      protocol: 'http',
      address: `http://127.0.0.1:${(agent.address() as AddressInfo).port}/`,
      timeout_ms: 20_000,
    },
    health_check: { path: '/healthz', interval_sec: 1, timeout_sec: 1 },
  });
  await waitFor('the first health check', () => checks > 0, 20_000);
  const reach = gateway.api.reach({ ability: 'busy.work', timeout_ms: 60_000 });
  await waitFor('the call', () => answer !== undefined, 20_000);
  const before = checks;
  await waitFor('health checks during the call', () => checks >= before + 3, 10_000);
  answer!();
  expect((await reach).status).toBe(200);
  agent.closeAllConnections();
  await new Promise((resolve) => agent.close(resolve));
});

it('a gateway that is closed leaves no connection of its health checks behind', async () => {
  const passing = await startGateway();
  let checks = 0;
  const agent = createServer((_request, response) => void ((checks += 1), response.end('ok')));
  // The other side must not be the one that ends it.
  agent.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => agent.listen(0, '127.0.0.1', resolve));
  await registerDescriptor(passing.api, {
    name: 'checked',
    version: '1.0.0',
    capabilities: ['checked.work'],
    endpoint: { protocol: 'http', address: `http://127.0.0.1:${(agent.address() as AddressInfo).port}/` },
    health_check: { path: '/healthz', interval_sec: 1, timeout_sec: 1 },
  });
  await waitFor('a health check', () => checks > 0, 20_000);
  await passing.close();
  const open = () =>
    new Promise<number>((resolve, reject) => agent.getConnections((e, n) => (e ? reject(e) : resolve(n))));
  expect(await waitFor('its connections to end', async () => ((await open()) === 0 ? 'ended' : undefined), 5_000)).toBe(
    'ended',
  );
  await new Promise((resolve) => agent.close(resolve));
});

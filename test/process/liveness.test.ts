import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { startGateway, type TestGateway } from '../support/gateway';
import { reach } from './scripted-agent';

let gateway: TestGateway;
const children: ChildProcess[] = [];

beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await gateway.close();
});

async function startAgent(name: string, ability: string, protocol: 'http' | 'worker'): Promise<ChildProcess> {
  const child = spawn(process.execPath, [join(__dirname, 'echo-agent.cjs'), gateway.url, name, ability, protocol], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  await new Promise<void>((done, fail) => {
    child.stdout?.once('data', () => done());
    child.once('exit', (code) => fail(new Error(`the agent ended with ${code}`)));
  });
  return child;
}

interface Instance {
  status: string;
  lease_remaining_sec?: number;
}

async function instances(name: string): Promise<Instance[]> {
  const response = await fetch(`${gateway.url}/v1/agents/${name}`);
  return ((await response.json()) as { instances: Instance[] }).instances;
}

/** Polls the registry as an operator would, until what is seen fits. */
async function until(name: string, fits: (seen: Instance[]) => boolean): Promise<void> {
  while (!fits(await instances(name))) await new Promise((done) => setTimeout(done, 100));
}

/** An agent that no earlier run of the same test has left behind. */
const nameOf = (text: string) => `${text}-${randomUUID().slice(0, 8)}`;
/** Asks until it is answered: on a busy machine a lease of five seconds may end and begin anew between two looks. */
async function served(ability: string): Promise<void> {
  while ((await reach(gateway.url, { ability, payload: {} }, 'wait=10')).status !== 200)
    await new Promise((done) => setTimeout(done, 100));
}

const isReady = (seen: Instance[]) => seen.some(({ status }) => status === 'ready');

describe.each(['http', 'worker'] as const)('an agent over %s that stops heartbeating', (protocol) => {
  it('is out of routing when its lease ends, with a diagnosis, and back by itself', async () => {
    const name = nameOf(`frozen-${protocol}`);
    const ability = `${name}.thaw`;
    const child = await startAgent(name, ability, protocol);
    await until(name, isReady);
    await served(ability);

    child.kill('SIGSTOP');
    await until(name, (seen) => !isReady(seen));
    const refused = await reach(gateway.url, { ability, payload: {} });
    expect(refused).toMatchObject({
      status: 503,
      body: { code: 'no_ready_instance', diagnosis: { reason: 'not_ready', agents: [{ agent_name: name }] } },
    });

    child.kill('SIGCONT');
    await until(name, isReady);
    await served(ability);
  });

  it('drains on SIGTERM: it leaves the registry and ends with 0', async () => {
    const name = nameOf(`leaving-${protocol}`);
    const child = await startAgent(name, `${name}.leave`, protocol);
    await until(name, isReady);
    const exited = new Promise((done) => child.once('exit', done));
    child.kill('SIGTERM');
    await expect(exited).resolves.toBe(0);
    await until(name, (seen) => !isReady(seen));
  });
});

/** Deliveries that come twice to an agent that runs as a Temporal worker (R7, R37), recorded on a real etcd. */
import { randomUUID } from 'node:crypto';
import type { WorkerCall } from '../../src/protocol/worker-wire';
import { ReachAgent, type AgentHandler } from '../../src/sdk/agent';
import { EtcdDeduplicationStore } from '../../src/sdk/dedup/etcd';
import { sharedEtcdAddress } from '../registry/support';
import { temporalAddress } from '../support/temporal';
import type { ScriptedGateway } from './scripted-gateway';
import { call, echoDescriptor, quietLog, startRegistry, type ScriptedRegistry } from './scripted-registry';
import { runWorkerWorkflow } from './worker-stage';
import type { attempt, Ending } from './worker-workflow';

const workflowQueue = `dedup-test-${randomUUID()}`;
const address = temporalAddress();

const client = runWorkerWorkflow(address, workflowQueue);
let gateway: ScriptedGateway;
let registry: ScriptedRegistry;
let store: EtcdDeduplicationStore;
let agents: ReachAgent[];

beforeEach(async () => {
  agents = [];
  ({ gateway, registry } = await startRegistry());
  store = new EtcdDeduplicationStore({ hosts: sharedEtcdAddress(), keyPrefix: `/test-${randomUUID()}` });
});
afterEach(async () => {
  await Promise.all(agents.map((agent) => agent.stop()));
  await store.close();
  await gateway.close();
});

/** An instance with a queue of its own, so that a test says which one a delivery goes to. */
async function serve(handler: AgentHandler): Promise<string> {
  const queue = `agent-${randomUUID()}`;
  registry.worker = { address, namespace: 'default', task_queue: queue };
  const agent = new ReachAgent({
    descriptor: echoDescriptor('worker'),
    gateway: gateway.url,
    handlers: { echo: handler },
    log: quietLog(),
    deduplication: store,
  });
  agents.push(agent);
  await agent.start();
  return queue;
}

async function deliver(queue: string, more: Partial<WorkerCall> = {}): Promise<Ending> {
  const input = { ...call(), traceparent: '00-aa-bb-01', ...more } as WorkerCall;
  return client().workflow.execute<typeof attempt>('attempt', {
    workflowId: `attempt-${randomUUID()}`,
    taskQueue: workflowQueue,
    args: [input, queue, 10_000],
  });
}

const outputOf = ({ answer }: Ending) => answer?.output;
const second: Partial<WorkerCall> = { attempt: 2, fence: '1767225600000000002' };

it('runs once for a delivery that comes again, at whichever instance', async () => {
  let runs = 0;
  const handler = () => ({ run: (runs += 1) });
  const [here, there] = [await serve(handler), await serve(handler)];
  expect(outputOf(await deliver(here))).toEqual({ run: 1 });
  expect(outputOf(await deliver(here, second))).toEqual({ run: 1 });
  expect(outputOf(await deliver(there, second))).toEqual({ run: 1 });
  expect(runs).toBe(1);
});

it('runs again after a failed try', async () => {
  let runs = 0;
  const queue = await serve(() => {
    runs += 1;
    if (runs === 1) throw new Error('not yet');
    return { run: runs };
  });
  expect(await deliver(queue)).toMatchObject({ type: 'agent_error' });
  expect(outputOf(await deliver(queue, second))).toEqual({ run: 2 });
});

it('turns an overtaken attempt away as passing, and throws its result away', async () => {
  const exactly = { delivery_semantics: 'exactly_once' as const };
  const [begun, release] = [gate(), gate()];
  const old = await serve(async () => (begun.open(), await release.opened, { from: 'old' }));
  const young = await serve(() => {
    throw new Error('not yet');
  });
  const first = deliver(old, exactly);
  await begun.opened;
  await deliver(young, { ...exactly, ...second });
  expect(await deliver(young, exactly)).toMatchObject({ type: 'agent_busy', nonRetryable: false });
  release.open();
  expect(await first).toMatchObject({ type: 'agent_error', nonRetryable: false });
});

function gate() {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

/** The whole way: a reach whose agent did the work and whose answer was lost on the way back (R4, R7). */
import { randomUUID } from 'node:crypto';
import { ReachAgent } from '../../src/sdk/agent';
import { freePorts } from '../../src/engines/ports';
import { openRelay, type Relay } from '../registry/support';
import { startGateway, type TestGateway } from '../support/gateway';
import { echoDescriptor, quietLog } from './scripted-registry';

let gateway: TestGateway;
let relay: Relay;
let agent: ReachAgent;
let runs: number;
let fences: string[];
/** Part of every key: a test that is run once more must not meet its own first run. */
let run: string;
const log = quietLog();

beforeAll(async () => {
  gateway = await startGateway({ config: { breaker: { enabled: false } } });
  const [port] = await freePorts(1);
  relay = await openRelay(`127.0.0.1:${port}`);
  agent = new ReachAgent({
    descriptor: echoDescriptor('http'),
    gateway: gateway.url,
    http: { port, publicUrl: `http://${relay.address}` },
    handlers: {
      echo: (payload, context) => {
        fences.push(context.fence);
        if (payload.fails && fences.length === 1) throw new Error('not yet');
        runs += 1;
        // Work is done; the connection breaks before the answer is on it.
        if (runs === 1) relay.cut();
        relay.mend();
        return { run: runs };
      },
    },
    log,
  });
  await agent.start();
});
afterAll(async () => {
  await agent.stop();
  await relay.close();
  await gateway.close();
});
beforeEach(() => {
  runs = 0;
  fences = [];
  run = randomUUID();
});

describe.each(['at_least_once', 'exactly_once'])('%s', (delivery_semantics) => {
  const reach = (key: string, payload: object = {}) =>
    gateway.api.reach({
      ability: 'echo',
      delivery_semantics,
      idempotency_key: `${key}-${run}`,
      payload,
      timeout_ms: 30_000,
    });

  it('does the work once when the answer is lost', async () => {
    const { status, body } = await reach('lost');
    expect([status, body.output]).toEqual([200, { run: 1 }]);
    expect(runs).toBe(1);
    const replayed = log.lines.filter(({ message }) => message === 'answered from the deduplication store');
    expect(replayed.map(({ fields }) => fields)).toContainEqual(
      expect.objectContaining({ reach_id: body.reach_id, attempt: 2 }),
    );
  });

  it('does it again, under a greater fence, when the first try failed', async () => {
    const { status, body } = await reach('failed', { fails: true });
    expect([status, body.output]).toEqual([200, { run: 1 }]);
    expect(fences).toHaveLength(2);
    expect(fences[1]! > fences[0]!).toBe(true);
  });

  it('gives another reach with the same business key the same result', async () => {
    await reach('shared');
    const other = await gateway.api.reach({
      ability: 'echo',
      target_agent: 'echo',
      delivery_semantics,
      idempotency_key: `shared-${run}`,
      timeout_ms: 30_000,
    });
    expect([other.status, other.body.output, runs]).toEqual([200, { run: 1 }, 1]);
  });
});

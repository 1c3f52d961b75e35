/** The fast path in a mock environment: what it hands on when the agent that it chose is not called from here. */
import { MockActivityEnvironment } from '@temporalio/testing';
import { reachInput, routedTo } from '../test/support/reach-input';
import { descriptorSchema } from '../src/protocol/descriptor';
import type { FastPathOutput } from '../workflows/messages';
import { routeAndInvoke } from './route-and-invoke';
import { fakeDependencies, type FakePlatform } from './test-support';

let platform: FakePlatform;
beforeEach(() => void (platform = fakeDependencies()));

const { envelope } = reachInput();
const proposed = routedTo('echo_agent', { idempotent: true, timeout_ms: 1_000 });

function take(): Promise<FastPathOutput> {
  const input = {
    tenant: 'default',
    envelope,
    proposed,
    exclude: [],
    share_ms: 10_000,
    trace_id: 't',
    run_start_ms: 1,
  };
  return new MockActivityEnvironment().run(() => routeAndInvoke(platform.deps, input)) as Promise<FastPathOutput>;
}

/** The proposed decision no longer stands; the new one is for an agent that pulls, as the probe of its breaker. */
function choosesPullAgent(): void {
  const endpoint = { protocol: 'worker', task_queue: 'echo-queue' };
  const descriptor = descriptorSchema.parse({
    ...{ name: 'echo_agent', version: '1.0.0', capabilities: [{ name: 'echo', idempotent: true }] },
    endpoint,
  });
  const world = platform.deps.world();
  platform.deps.world = () => ({ ...world, agents: world.agents.map((agent) => ({ ...agent, descriptor })) });
  const chosen = { ...proposed.decision.chosen, admission: 'probe' as const };
  const decision = { ...proposed.decision, decision_id: 'd-anew', chosen };
  platform.deps.router.stillGood = ({ chosen: asked }) => asked === chosen;
  platform.deps.router.route = () => Promise.resolve(decision);
}

test('the ticket of a pull agent that was chosen anew goes along, and nobody is called', async () => {
  choosesPullAgent();
  expect(await take()).toMatchObject({
    routed: { decision: { decision_id: 'd-anew' }, target: { protocol: 'worker' }, ready: true },
    outcome: null,
    ticket: { mark: 'probe', phase: 'p-1' },
  });
  expect(platform.breakers).toMatchObject({ entered: 1, reported: [] });
  expect(platform.agent.calls).toEqual([]);
});

test('an agent that is called from here needs none handed on: its call has given it back', async () => {
  const output = await take();
  expect(output).toMatchObject({ routed: null, outcome: { kind: 'answer' } });
  expect(output).not.toHaveProperty('ticket');
  expect(platform.breakers).toMatchObject({ entered: 1, reported: ['ok'] });
});

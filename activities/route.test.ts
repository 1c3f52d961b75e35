/** The `route` activity in a mock environment: what an accepted reach does when this worker would refuse it. */
import { MockActivityEnvironment } from '@temporalio/testing';
import type { ApplicationFailure } from '@temporalio/common';
import { descriptorSchema } from '../src/protocol/descriptor';
import { ReachError } from '../src/protocol/reach-error';
import { reachInput } from '../test/support/reach-input';
import type { InvokeFailure, RouteInput, RouteOutput } from '../workflows/messages';
import { awaitReady, route } from './route';
import { fakeDependencies, type FakePlatform } from './test-support';

let platform: FakePlatform;
beforeEach(() => {
  platform = fakeDependencies();
  platform.deps.router.stillGood = () => false;
  platform.deps.router.route = () => Promise.reject(new ReachError('circuit_open', 'open', { retryAfterMs: 30_000 }));
});

const { envelope, routed } = reachInput();
const ECHO = { name: 'echo_agent', version: '1.0.0', capabilities: ['echo'] };

function decide(more: Partial<RouteInput> = {}): Promise<RouteOutput> {
  const input: RouteInput = { tenant: 'default', envelope, proposed: routed, exclude: [], ...more };
  return new MockActivityEnvironment().run(() => route(platform.deps, input)) as Promise<RouteOutput>;
}

async function refusedCode(answer: Promise<unknown>): Promise<string> {
  const failure = (await answer.then(
    () => null,
    (caught: unknown) => caught,
  )) as ApplicationFailure | null;
  return (failure?.details?.[0] as InvokeFailure | undefined)?.problem.code ?? 'none';
}

test('a reach whose caller waits learns at once that a breaker is open', async () => {
  expect(await refusedCode(decide())).toBe('circuit_open');
});

test('a durable hand-over waits for the breaker', async () => {
  const answer = await decide({ envelope: { ...envelope, mode: 'async' } });
  expect(answer).toEqual({ stands: false, routed: { ...routed, ready: false } });
});

test('while the worker is cut off from etcd, what the gateway accepted waits, whoever waits for it', async () => {
  platform.deps.isCutOff = () => true;
  expect(await decide()).toEqual({ stands: false, routed: { ...routed, ready: false } });
});

test('so does the call of a pull agent whose ticket is refused at the last moment', async () => {
  platform.deps.isCutOff = () => true;
  platform.breakers.refuseWith = new ReachError('circuit_open', 'open', { retryAfterMs: 30_000 });
  const descriptor = descriptorSchema.parse({ ...ECHO, endpoint: { protocol: 'worker', task_queue: 'echo-queue' } });
  platform.deps.world().agents.forEach((agent) => (agent.descriptor = descriptor));
  let decisions = 1;
  platform.deps.router.route = () =>
    decisions-- > 0 ? Promise.resolve(routed.decision) : Promise.reject(new ReachError('circuit_open', 'nobody else'));
  platform.deps.router.stillGood = (decision) => decision === routed.decision;
  const pulled = { ...routed, target: { ...routed.target, protocol: 'worker' as const } };
  expect(await decide({ proposed: pulled })).toEqual({ stands: false, routed: { ...pulled, ready: false } });
});

test('what can never be served is refused, cut off or not', async () => {
  platform.deps.isCutOff = () => true;
  platform.deps.router.route = () => Promise.reject(new ReachError('ability_not_found', 'nobody offers it'));
  expect(await refusedCode(decide())).toBe('ability_not_found');
});

test('what is refused is told, once; what waits is not', async () => {
  const refusal = new ReachError('ability_not_found', 'nobody offers it');
  platform.deps.router.route = () => Promise.reject(refusal);
  await refusedCode(decide());
  expect(platform.refusals).toEqual([refusal]);
  platform.deps.router.route = () => Promise.reject(new ReachError('circuit_open', 'open'));
  await decide({ envelope: { ...envelope, mode: 'async' } });
  expect(platform.refusals).toHaveLength(1);
});

test('nor is it news that nobody else is left after a failure', async () => {
  expect(await refusedCode(decide({ proposed: null, exclude: ['echo_agent#1.0.0'] }))).toBe('circuit_open');
  expect(platform.refusals).toEqual([]);
});

test('one that waited and can never be served is told; one that goes on waiting is not', async () => {
  const wait = () =>
    refusedCode(
      new MockActivityEnvironment().run(() =>
        awaitReady(platform.deps, { tenant: 'default', envelope, proposed: null, exclude: [] }),
      ) as Promise<unknown>,
    );
  expect(await wait()).toBe('circuit_open');
  expect(platform.refusals).toEqual([]);
  platform.deps.router.route = () => Promise.reject(new ReachError('version_not_found', 'it was removed'));
  expect(await wait()).toBe('version_not_found');
  expect(platform.refusals.map(({ code }) => code)).toEqual(['version_not_found']);
});

test('a next agent, after others were tried, is not waited for', async () => {
  platform.deps.isCutOff = () => true;
  expect(await refusedCode(decide({ proposed: null, exclude: ['echo_agent#1.0.0'] }))).toBe('circuit_open');
});

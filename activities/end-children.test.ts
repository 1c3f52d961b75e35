/** The `endChildren` activity in a mock environment: what is cancelled, looked for again, and given back. */
import { ApplicationFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { endChildren } from './end-children';
import { fakeDependencies, type FakePlatform } from './test-support';

const CANCELLED_AT_MS = 1_767_225_600_000;
let platform: FakePlatform;
let ends: Record<string, 'cancelling' | 'over' | 'unknown' | 'failed'>;
let asked: string[];
beforeEach(() => {
  platform = fakeDependencies();
  ends = {};
  asked = [];
  platform.deps.tree.children = () => Promise.resolve(Object.keys(ends).map((reachId) => ({ reachId })));
  platform.deps.cancelReach = async (reachId) => {
    asked.push(reachId);
    return ends[reachId]!;
  };
});

/** How an execution ends that the server schedules `afterMs` after the first. */
async function execute(afterMs = 0): Promise<'done' | ApplicationFailure> {
  const environment = new MockActivityEnvironment({
    scheduledTimestampMs: CANCELLED_AT_MS,
    currentAttemptScheduledTimestampMs: CANCELLED_AT_MS + afterMs,
  });
  try {
    await environment.run(() => endChildren(platform.deps, { reach_id: 'parent' }));
    return 'done';
  } catch (caught) {
    if (caught instanceof ApplicationFailure) return caught;
    throw caught;
  }
}

it('asks every child to end', async () => {
  ends = { one: 'cancelling', two: 'over' };
  expect(await execute()).toBe('done');
  expect(asked).toEqual(['one', 'two']);
});

it('looks again for one that is noted and not there, whatever the clocks of hosts say, until it must have started', async () => {
  ends = { late: 'unknown', there: 'cancelling' };
  for (const afterMs of [0, 14_900])
    expect(await execute(afterMs)).toMatchObject({ nonRetryable: false, nextRetryDelay: 500 });
  expect(await execute(15_000)).toBe('done');
});

it('asks again while nobody can be asked', async () => {
  ends = { one: 'failed' };
  for (const afterMs of [0, 20_000]) expect(await execute(afterMs)).toMatchObject({ nonRetryable: false });
  platform.deps.tree.children = () => Promise.reject(new Error('etcd is away'));
  expect(await execute()).toMatchObject({ nonRetryable: false });
});

it('gives back the slots of concurrent retries that the cancelled reach held', async () => {
  await platform.deps.retryPermits.acquire({ agentName: 'echo_agent', holder: 'parent', ttlMs: 300_000 });
  await platform.deps.retryPermits.acquire({ agentName: 'echo_agent', holder: 'other', ttlMs: 300_000 });
  await execute();
  expect([...platform.permits.held]).toEqual(['other']);
});

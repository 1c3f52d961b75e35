import { ApplicationFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { ReachError } from '../src/protocol/reach-error';
import type { DeliverCallbackInput, DeliveryDone } from '../workflows/delivery-messages';
import { createDeliveryActivities, type DeliveryDependencies } from './deliver-callback';

const end = { endedAt: '2026-05-04T08:30:00.000Z', status: 'completed', view: { reach_id: 'r-1' } };
const input: DeliverCallbackInput = {
  id: 'cb-1',
  reach_id: 'r-1',
  run_id: 'run',
  to: { url: 'https://example.com/' },
  delays_ms: [1_000, 60_000],
  timeout_ms: 5_000,
  max_age_ms: 100_000,
  task_queue: 'q',
};

function depsWith(more: Partial<DeliveryDependencies>): { deps: DeliveryDependencies; outcomes: string[] } {
  const outcomes: string[] = [];
  const deps: DeliveryDependencies = {
    start: async () => undefined,
    readEnd: async () => end,
    post: async () => ({ status: 204 }),
    reply: async () => undefined,
    attempted: (_input, outcome) => void outcomes.push(outcome),
    random: () => 0.5,
    ...more,
  };
  return { deps, outcomes };
}

async function run(deps: DeliveryDependencies, attempt: number, more: Partial<DeliverCallbackInput> = {}) {
  const environment = new MockActivityEnvironment({ attempt });
  const { deliver } = createDeliveryActivities(deps);
  try {
    return (await environment.run(deliver, { ...input, ...more })) as DeliveryDone;
  } catch (caught) {
    if (caught instanceof ApplicationFailure) return caught;
    throw caught;
  }
}

describe('one attempt', () => {
  it.each([200, 201, 202, 204, 299])('that is answered %i has arrived', async (status) => {
    const { deps, outcomes } = depsWith({ post: async () => ({ status }) });
    expect(await run(deps, 2)).toEqual({ attempts: 2 });
    expect(outcomes).toEqual(['delivered']);
  });

  it.each([
    // status, attempt, Retry-After, final, next delay: the schedule and up to a tenth more, or what the receiver asks for.
    [500, 1, undefined, false, 1_050],
    [500, 2, undefined, false, 63_000],
    [500, 3, undefined, true, undefined],
    [503, 1, 20_000, false, 20_000],
    [429, 1, 10, false, 1_050],
    [429, 1, 604_800_000, false, 3_600_000],
    [404, 1, undefined, false, 1_050],
    [301, 1, undefined, false, 1_050],
    [410, 1, undefined, true, undefined],
    [304, 1, undefined, false, 1_050],
  ])('that is answered %i on try %i with Retry-After %p: final %p, next after %p ms', async (...row) => {
    const [status, attempt, retryAfterMs, final, delayMs] = row;
    const answer = { status, ...(retryAfterMs !== undefined && { retryAfterMs }) };
    const { deps, outcomes } = depsWith({ post: async () => answer });
    const failure = await run(deps, attempt);
    expect(failure).toMatchObject({
      type: 'undelivered',
      nonRetryable: final,
      details: [{ attempts: attempt, http_status: status, message: expect.stringContaining(String(status)) }],
    });
    expect((failure as ApplicationFailure).nextRetryDelay ?? undefined).toBe(delayMs);
    expect(outcomes).toEqual([final ? 'failed' : 'retried']);
  });

  it.each([
    ['callback_url_forbidden', true],
    ['not_found', true],
    ['agent_unavailable', false],
    ['agent_timeout', false],
    ['engine_unavailable', false],
  ] as const)('that ends with %s is final: %p', async (code, final) => {
    const { deps } = depsWith({
      post: async () => {
        throw new ReachError(code, `because of ${code}`);
      },
    });
    expect(await run(deps, 1)).toMatchObject({ nonRetryable: final, message: `because of ${code}` });
  });

  it('shows nothing of an unexpected error', async () => {
    const { deps } = depsWith({
      post: async () => {
        throw new Error('whsec_canary');
      },
    });
    const failure = await run(deps, 1);
    expect(failure).toMatchObject({ nonRetryable: false });
    expect(JSON.stringify(failure)).not.toContain('canary');
  });

  it('waits for a run that is not over, and posts nothing meanwhile', async () => {
    const post = jest.fn();
    const { deps } = depsWith({ readEnd: async () => null, post });
    expect(await run(deps, 1)).toMatchObject({ nonRetryable: false, message: 'The reach is not over yet' });
    expect(post).not.toHaveBeenCalled();
  });

  it('that the shutdown of its worker cuts short is made again soon, even if it would have been the last', async () => {
    const environment = new MockActivityEnvironment({ attempt: 3 });
    const { deps } = depsWith({
      post: ({ signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(new ReachError('engine_unavailable', 'cut short')));
          environment.cancel();
        }),
    });
    const { deliver } = createDeliveryActivities(deps);
    await expect(environment.run(deliver, input)).rejects.toMatchObject({ nonRetryable: false, nextRetryDelay: 1_050 });
  });

  it('tells a workflow or a topic by its reply', async () => {
    const reply = jest.fn().mockResolvedValue(undefined);
    const { deps } = depsWith({ reply });
    const to = { workflow_id: 'order-1', signal: 'answered' };
    expect(await run(deps, 1, { to })).toEqual({ attempts: 1 });
    expect(reply).toHaveBeenCalledWith({ id: 'cb-1', to, end });
  });
});

import { ReachError } from '../src/protocol/reach-error';
import { makeAttempt } from './attempt';
import { fakeDependencies, invokeInput } from './test-support';

const LEFT_MS = 60_000;
const BUDGET_MS = 10_000;

/** How long the store is asked to keep the answer of one attempt, ms. */
async function patienceOf(idempotent: boolean | null, budgetMs = BUDGET_MS): Promise<number | undefined> {
  const { deps, agent } = fakeDependencies();
  agent.script(() => Promise.resolve({ kind: 'unread', content: Buffer.from('{}') }));
  let withinMs: number | undefined;
  deps.payloads = {
    ...deps.payloads,
    keepAnswer(_content, _order, patience) {
      ({ withinMs } = patience ?? {});
      return Promise.reject(new ReachError('engine_unavailable', 'away', { retryAfterMs: 1_000 }));
    },
  };
  const input = invokeInput({ share_ms: LEFT_MS, timeout_ms: budgetMs, idempotent });
  const result = await makeAttempt(deps, input, {
    reachId: 'r-1',
    runId: 'run-1',
    runStartMs: 0,
    n: 1,
    budgetMs: () => budgetMs,
    leftMs: () => LEFT_MS,
    signal: new AbortController().signal,
    avoid: [],
    retry: false,
    patienceMs: 0,
  });
  expect(result).toMatchObject({ kind: 'made', error: { code: 'engine_unavailable', options: { received: 'yes' } } });
  return withinMs;
}

it('asks the store for what is left of the attempt to keep work that may be done again', async () => {
  const withinMs = await patienceOf(null);
  expect(withinMs).toBeGreaterThan(BUDGET_MS / 2);
  expect(withinMs).toBeLessThanOrEqual(BUDGET_MS);
  expect(await patienceOf(true, 100)).toBe(2_000);
});

it('asks it for all the time that is left to keep work that may not', async () => {
  expect(await patienceOf(false)).toBe(LEFT_MS);
});

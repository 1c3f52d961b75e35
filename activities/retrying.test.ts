import { DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS } from '../src/protocol/limits';
import { ReachError } from '../src/protocol/reach-error';
import type { RetryTerms } from '../workflows/messages';
import { decideRetry, treeLeftMs } from './retrying';
import { fakeDependencies } from './test-support';

const DAY_MS = 86_400_000;
const terms: RetryTerms = {
  reach_id: 'child',
  semantics: 'at_least_once',
  idempotent: null,
  retries_left: 3,
  left_ms: DEFAULT_TIMEOUT_MS,
  retry: 1,
  attempt_ms: 1_000,
  permit: null,
  failed_attempt: 1,
};

it('a retry counts until the end of its tree, though the reach that makes it is over long before', async () => {
  const { deps } = fakeDependencies();
  const asked: number[] = [];
  deps.tree.takeRetry = ({ ttlMs }) => {
    asked.push(ttlMs);
    return Promise.resolve(true);
  };
  const error = new ReachError('agent_error', '503', { received: 'yes' });
  const tree = { run: 'root-run', limit: 3, ends_ms: new Date().getTime() + DAY_MS };
  await decideRetry(deps, { agentName: 'echo_agent', error, terms: { ...terms, tree } });
  expect(asked[0]).toBeGreaterThan(DAY_MS - 60_000);
  expect(asked[0]).toBeLessThanOrEqual(DAY_MS);
});

it.each([
  ['one of an earlier release', undefined, 5_000],
  ['one that is over by our clock', 0, 5_000],
  ['one that can have no such end', Number.MAX_SAFE_INTEGER, MAX_TIMEOUT_MS],
])('a tree of which less is known, %s', (_name, ends_ms, expected) => {
  expect(treeLeftMs({ run: 'root-run', limit: 3, ...(ends_ms !== undefined && { ends_ms }) }, 5_000)).toBe(expected);
});

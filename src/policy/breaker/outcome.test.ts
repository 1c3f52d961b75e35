import { ERROR_CODES } from '../../protocol/error-codes';
import { breakerOutcome } from './outcome';

it('counts against the agent only what is its own', () => {
  const failures = ERROR_CODES.filter((code) => breakerOutcome(code, null) === 'failure');
  expect(failures.toSorted()).toEqual([
    'agent_busy',
    'agent_error',
    'agent_timeout',
    'agent_unavailable',
    'worker_lost',
  ]);
  expect(ERROR_CODES.filter((code) => breakerOutcome(code, null) === 'ok')).toEqual([]);
  expect(breakerOutcome(null, null)).toBe('ok');
});

it('takes a refusal as an answer to a probe, and to nothing else', () => {
  expect(breakerOutcome('agent_rejected', 'probe')).toBe('ok');
  expect(breakerOutcome('agent_rejected', 'bypass')).toBe('neutral');
  expect(breakerOutcome('response_schema_mismatch', 'probe')).toBe('neutral');
  expect(breakerOutcome('agent_timeout', 'probe')).toBe('failure');
});

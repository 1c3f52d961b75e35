import { agent, instance } from '../../test/routing/fixtures';
import { ReachError } from '../protocol/reach-error';
import { diagnosedAtCall } from './call-diagnosis';

const reader = agent({ name: 'reader', version: '1.0.0', capabilities: ['ocr'] }, [instance({ status: 'draining' })]);

it.each([
  ['overloaded', 'overloaded', 'overloaded', 'its bulkhead'],
  ['circuit_open', 'breaker_open', 'breaker_open', 'its breaker'],
  ['no_ready_instance', 'not_ready', 'draining', 'the agent'],
] as const)('%s at the call is diagnosed as %s', (code, reason, cause, by) => {
  const caught = new ReachError(code, 'no place', { retryAfterMs: 700, received: 'no' });
  const told = diagnosedAtCall(caught, reader) as ReachError;
  expect(told).toMatchObject({ code, message: 'no place', retryAfterMs: 700, options: { received: 'no' } });
  expect(told.diagnosis).toMatchObject({
    reason,
    advice: expect.stringMatching(/\S/),
    retry_after_ms: 700,
    causes: [{ cause, count: 1 }],
    agents: [{ agent_name: 'reader', agent_version: '1.0.0', cause, by, since: '2026-03-01T12:03:01.000Z' }],
  });
});

it('leaves alone what has a diagnosis, what is another failure, and what is none of ours', () => {
  const known = new ReachError('overloaded', 'x', { diagnosis: { reason: 'overloaded', message: 'x' } });
  for (const caught of [known, new ReachError('agent_error', 'x'), new Error('x'), 'x', null])
    expect(diagnosedAtCall(caught, reader)).toBe(caught);
});

it("says in the agent's line what is so, and leaves what to do to the advice", () => {
  const message =
    'reader takes 1 call at once; its share of 1 is taken. Try again in 700 ms; to let more through, add instances';
  const told = diagnosedAtCall(new ReachError('overloaded', message, { retryAfterMs: 700 }), reader) as ReachError;
  expect(told.diagnosis!.agents![0]!.detail).toBe('reader takes 1 call at once; its share of 1 is taken');
  expect(told.diagnosis!.message).toBe(message);
});

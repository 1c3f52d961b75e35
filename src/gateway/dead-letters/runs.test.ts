import type { Client } from '@temporalio/client';
import type { ErrorCode } from '../../protocol/error-codes';
import { ReachError } from '../../protocol/reach-error';
import type { AttemptRecord } from '../../protocol/shapes';
import { mayBeDone, RunReader } from './runs';

type Made = [AttemptRecord['received'], ErrorCode?];

function ended(code: ErrorCode, ...attempts: Made[]) {
  const records = attempts.map(([received, its], index): AttemptRecord => ({
    n: index + 1,
    agent_name: 'booking',
    agent_version: '1.0.0',
    instance: 'i-1',
    started_at: '2026-01-01T00:00:00.000Z',
    duration_ms: 1,
    received,
    ...(its && { code: its }),
  }));
  return { problem: new ReachError(code, 'x').toProblem(), attempts: records };
}

describe('work that may be sent only once may be done', () => {
  it.each<[string, ReturnType<typeof ended>]>([
    ['there was no room for the answer', ended('storage_full', ['yes', 'storage_full'])],
    ['the store of answers was away', ended('engine_unavailable', ['yes', 'engine_unavailable'])],
    ['the answer was not as its schema says', ended('response_schema_mismatch', ['yes', 'response_schema_mismatch'])],
    ['the answer was too large', ended('agent_response_too_large', ['yes', 'agent_response_too_large'])],
    ['the answer was no JSON', ended('agent_protocol_error', ['yes', 'agent_protocol_error'])],
    ['nobody knows whether it arrived', ended('agent_unavailable', ['unknown', 'agent_unavailable'])],
    [
      'an earlier attempt was of that kind',
      ended('agent_rejected', ['unknown', 'worker_lost'], ['yes', 'agent_rejected']),
    ],
    ['a breaker had the last word', ended('circuit_open', ['yes', 'agent_protocol_error'])],
    ['an accepted attempt came to no known end', ended('agent_timeout', ['yes'])],
    ['the run ended without a code', ended('internal')],
  ])('when %s', (_what, ending) => expect(mayBeDone(ending)).toBe(true));
});

describe('it is not done', () => {
  it.each<[string, ReturnType<typeof ended>]>([
    ['the agent refused it', ended('agent_rejected', ['yes', 'agent_rejected'])],
    ['the agent failed', ended('agent_error', ['yes', 'agent_error'])],
    ['the agent was busy', ended('agent_busy', ['yes', 'agent_busy'])],
    ['the agent accepted it and then refused it', ended('agent_rejected', ['yes'])],
    ['it never arrived', ended('agent_unavailable', ['no', 'agent_unavailable'], ['no', 'agent_unavailable'])],
    ['nobody was called', ended('storage_full')],
    ['nobody was ready', ended('no_ready_instance')],
  ])('when %s', (_what, ending) => expect(mayBeDone(ending)).toBe(false));
});

it('is asked for of whatever ended unknown, also at an agent that the first decision did not name', async () => {
  const metadata = { encoding: Buffer.from('json/plain'), type: Buffer.from('Keyword') };
  const ReachStatus = { metadata, data: Buffer.from('"outcome_unknown"') };
  const raw = { workflowExecutionInfo: { searchAttributes: { indexedFields: { ReachStatus } } } };
  const run = { status: { name: 'FAILED' }, raw };
  const input = { envelope: { delivery_semantics: 'at_least_once' }, routed: { target: { idempotent: true } } };
  const reader = new RunReader({ client: {} as Client, namespace: 'default' });
  await expect(reader.mayHaveRun(run as never, input as never)).resolves.toBe(true);
});

import { noSuchVersion, parseAgentAt, parseAgentRef } from './agent-ref';
import { UsageError } from './exit-codes';

it.each([
  ['refund_agent', { name: 'refund_agent' }],
  ['refund_agent#1.2.0', { name: 'refund_agent', version: '1.2.0' }],
  ['refund_agent#v1.2.0', { name: 'refund_agent', version: '1.2.0' }],
  ['refund_agent#2.0.0-rc.1', { name: 'refund_agent', version: '2.0.0-rc.1' }],
])('%s is an agent', (text, ref) => expect(parseAgentRef(text)).toEqual(ref));

it.each(['', '#1.2.0', 'refund_agent#', 'refund_agent#1.2', 'refund_agent#^1.2.0', 'a#1.0.0#2.0.0'])(
  '`%s` is none',
  (text) => expect(() => parseAgentRef(text)).toThrow(UsageError),
);

it('takes the version from either place, and refuses two that differ', () => {
  expect(parseAgentAt('a', undefined)).toEqual({ name: 'a' });
  expect(parseAgentAt('a', '1.0.0')).toEqual({ name: 'a', version: '1.0.0' });
  expect(parseAgentAt('a#1.0.0', 'v1.0.0')).toEqual({ name: 'a', version: '1.0.0' });
  expect(() => parseAgentAt('a#1.0.0', '1.1.0')).toThrow(/different versions/);
  expect(() => parseAgentAt('a', '1.x')).toThrow(UsageError);
});

it('says which versions there are', () => {
  const { code, options } = noSuchVersion({ name: 'a', version: '9.0.0' }, ['1.1.0', '1.0.0']);
  expect([code, options.diagnosis?.available_versions]).toEqual(['version_not_found', ['1.1.0', '1.0.0']]);
});

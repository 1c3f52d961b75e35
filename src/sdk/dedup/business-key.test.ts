import fc from 'fast-check';
import { businessKey, type KeyedCall } from './business-key';

const keyed = (more: Partial<KeyedCall> = {}): KeyedCall => ({
  ability: 'refund',
  idempotency_key: 'k-1',
  message_id: 'm-1',
  source_agent: 'desk',
  ...more,
});

it('is a SHA-256 that does not change from release to release: what was recorded stays found', () => {
  expect(businessKey('refund_agent', keyed())).toBe('abf80d2fcc01bd8d15755f835962b28ad37668fb57f259e615172a70537faafc');
  expect(businessKey('refund_agent', keyed({ idempotency_key: 'm-1' }))).toBe(
    '6cb76bcd66f01f78d62b8ebd8a2f83c6930bd3fc1724836e0b623507432be9f7',
  );
});

it('is the same for every message and sender of one key', () => {
  const key = businessKey('refund_agent', keyed());
  expect(businessKey('refund_agent', keyed({ message_id: 'm-2', source_agent: 'mail' }))).toBe(key);
});

it('differs by agent, ability and key, however their texts are cut', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', ':', '1', '退'), maxLength: 5 });
  const parts = fc.tuple(text, text, text);
  const keyOf = ([agent, ability, idempotency_key]: [string, string, string]) =>
    businessKey(agent, keyed({ ability, idempotency_key }));
  fc.assert(
    fc.property(parts, parts, (one, other) => {
      expect(keyOf(one) === keyOf(other)).toBe(JSON.stringify(one) === JSON.stringify(other));
    }),
  );
});

it('of a message without a key differs by sender, and from a key that reads the same', () => {
  const message = (source_agent: string) =>
    businessKey('a', keyed({ idempotency_key: '1', message_id: '1', source_agent }));
  const all = [message('desk'), message('mail'), businessKey('a', keyed({ idempotency_key: '1' }))];
  expect(new Set(all).size).toBe(3);
});

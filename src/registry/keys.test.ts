import fc from 'fast-check';
import { Keyspace, type RecordKind } from './keys';

const keys = new Keyspace('/agent-reach/', 'default');
const kind = fc.constantFrom<RecordKind>('agent', 'instance', 'beat', 'health', 'gone');
const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 });

it('any name and item come back from their key, and stay below their own prefix', () => {
  fc.assert(
    fc.property(kind, text, text, (recordKind, name, item) => {
      const key = keys.record(recordKind, name, item);
      expect(keys.parse(key)).toEqual({ kind: recordKind, name, item });
      expect(key.startsWith(keys.recordsOf(recordKind, name))).toBe(true);
      expect(key.slice(keys.recordsOf(recordKind, name).length)).not.toContain('/');
    }),
  );
});

it('one agent’s prefix never covers another’s keys, nor one tenant’s another’s', () => {
  fc.assert(
    fc.property(text, text, text, (name, other, item) => {
      fc.pre(name !== other);
      expect(keys.record('instance', other, item).startsWith(keys.recordsOf('instance', name))).toBe(false);
      expect(
        new Keyspace('/agent-reach', other)
          .record('agent', name, item)
          .startsWith(new Keyspace('/agent-reach', name).registry),
      ).toBe(false);
    }),
  );
  expect(keys.recordsOf('agent', 'foo')).toBe('/agent-reach/default/registry/agent/foo/');
});

it.each([
  '',
  '/agent-reach/default/registry/agent/x',
  '/agent-reach/default/registry/odd/x/y',
  '/agent-reach/default/registry/agent/%zz/y',
  '/agent-reach/other/registry/agent/x/y',
  '/agent-reach/default/registry/agent/x/y/z',
])('%j is no record', (key) => {
  expect(keys.parse(key)).toBeNull();
});

it('refuses to work without prefix or tenant', () => {
  expect(() => new Keyspace('', 'default')).toThrow(RangeError);
  expect(() => new Keyspace('/x', '')).toThrow(RangeError);
});

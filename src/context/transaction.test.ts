import fc from 'fast-check';
import type { ContextOperation } from '../protocol/context';
import { Keyspace } from '../registry/keys';
import { changesOf } from './changes';
import { ContextKeys } from './context-keys';
import { decodeFields, encodeHead, encodePart, LIST_HEAD } from './stored';
import { transactionOf } from './transaction';

const keys = new ContextKeys(new Keyspace('/p', 't'), 'c');
const stamp = { at: '2026-01-01T00:00:00.000Z', by: 'me' };
const write = { keys, stamp, lease: '7', unique: 'u', listState: () => 'list' as const };

describe('keys', () => {
  it('tell field and part, whatever the name', () => {
    const name = fc.string({ minLength: 1, unit: 'grapheme' });
    fc.assert(
      fc.property(name, (field) => {
        expect(keys.parse(keys.head(field))).toEqual({ field, part: 'head' });
        expect(keys.parse(keys.base(field))).toEqual({ field, part: 'base' });
        expect(keys.parse(keys.chunk(field, 3))).toEqual({ field, part: 'chunk' });
        expect(keys.parse(keys.item(field, 'x'))).toEqual({ field, part: 'item' });
      }),
    );
  });

  it('of one field or context never lie within those of another', () => {
    const name = fc.string({ minLength: 1, unit: 'grapheme' });
    fc.assert(
      fc.property(name, name, (a, b) => {
        fc.pre(a !== b);
        expect(keys.head(b).startsWith(keys.tail(a))).toBe(false);
        expect(keys.item(b, 'x').startsWith(keys.tail(a))).toBe(false);
        const [one, other] = [a, b].map((id) => new ContextKeys(new Keyspace('/p', 't'), id));
        expect(other!.root.startsWith(one!.root)).toBe(false);
      }),
    );
  });
});

describe('a transaction', () => {
  it('stays within what etcd takes, with as many fields as a batch may have', () => {
    const operations = Array.from({ length: 100 }, (_, n): ContextOperation => {
      if (n % 4 === 0) return { op: 'append', field: `f${n}`, value: n };
      if (n % 4 === 1) return { op: 'delete', field: `f${n}`, base_version: n };
      return { op: 'set', field: `f${n}`, value: n % 2 ? n : [n], base_version: n };
    });
    const { compare, success, failure } = transactionOf(changesOf(operations), write);
    const outer = Math.max(compare.length, success.length, failure.length);
    expect(outer).toBeLessThanOrEqual(124);
    expect(success.filter(({ request_put: put }) => put !== undefined)).toHaveLength(24);
    for (const { request_txn: inner } of [...success.slice(0, 100), ...failure]) {
      expect(inner!.success!.length).toBeGreaterThan(0);
      expect(inner!.success!.length).toBeLessThanOrEqual(128 - outer);
    }
  });
});

describe('for etcd without space', () => {
  it.each<ContextOperation>([
    { op: 'append', field: 'a', value: 1 },
    { op: 'set', field: 'a', value: 1, force: true },
    { op: 'set', field: 'a', value: [1], force: true },
  ])('a put stands outside, where it is looked for: %j', (operation) => {
    const { success } = transactionOf(changesOf([{ op: 'delete', field: 'b', force: true }, operation]), write);
    expect(success.some(({ request_put: put }) => put !== undefined)).toBe(true);
  });
});

describe('what was stored', () => {
  const kv = (key: string, value: string, revision: number) =>
    ({ key: Buffer.from(key), value: Buffer.from(value), mod_revision: String(revision) }) as never;

  it('comes back as fields, lists in the order in which they grew', () => {
    const later = { at: '2026-01-02T00:00:00.000Z', by: 'you' };
    const entries = [
      kv(keys.head('n'), encodeHead('{"a":1}', stamp), 5),
      kv(keys.head('l'), LIST_HEAD, 12),
      kv(keys.base('l'), encodePart(['1'], stamp), 6),
      kv(keys.chunk('l', 0), encodePart(['2', '3'], stamp), 11),
      kv(keys.item('l', 'a'), encodePart(['5', '6'], later), 12),
      kv(keys.item('l', 'b'), encodePart(['4'], stamp), 9),
    ];
    expect(Object.fromEntries(decodeFields(entries, keys))).toMatchObject({
      n: { value: { a: 1 }, version: 5, updated_by: 'me' },
      l: { value: [1, 2, 3, 4, 5, 6], version: 12, updated_at: later.at, updated_by: 'you' },
    });
  });

  it('and cannot be read is said, not guessed', () => {
    expect(() => decodeFields([kv(keys.head('n'), 'rubbish', 1)], keys)).toThrow(/cannot be read; delete it/);
  });
});

import fc from 'fast-check';
import type { ContextOperation } from '../protocol/context';
import { formatPayloadRef } from '../protocol/payload-ref';
import { Keyspace } from '../registry/keys';
import { changesOf as changes } from './changes';
import { ClaimKeys } from './claim-keys';
import { ContextKeys } from './context-keys';
import { claimedBytes, decodeFields, encodeClaim, encodeHead, encodePart, encodePieces, LIST_HEAD } from './stored';
import { transactionOf } from './transaction';

const keyspace = new Keyspace('/p', 't');
const keys = new ContextKeys(keyspace, 'c');
const changesOf = (operations: ContextOperation[]) => changes(operations, 1_048_576);
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
    const ref = formatPayloadRef({ digest: 'a'.repeat(64), bytes: 70_000 });
    const refs = new Map(operations.filter(({ op }) => op !== 'delete').map(({ field }) => [field, ref]));
    const claims = { refs, fence: '0', keys: new ClaimKeys(keyspace), contextId: 'c' };
    const { compare, success, failure } = transactionOf(changesOf(operations), { ...write, claims });
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
      n: { content: { value: { a: 1 } }, version: 5, updated_by: 'me' },
      l: {
        content: { pieces: [{ values: [1, 2, 3, 4, 5, 6] }] },
        version: 12,
        updated_at: later.at,
        updated_by: 'you',
      },
    });
  });

  it('keeps the place of what is in blobs, in lists as well, and after folding', () => {
    const [a, b] = ['a', 'b'].map((digit) => formatPayloadRef({ digest: digit.repeat(64), bytes: 100 }));
    const pieces = [{ values: [1] }, { values: [2] }, { ref: b! }, { values: [] }, { values: [[3]] }];
    const entries = [
      kv(keys.head('n'), encodeClaim(a!, stamp), 5),
      kv(keys.head('l'), LIST_HEAD, 12),
      kv(keys.base('l'), encodeClaim(a!, stamp), 6),
      kv(keys.chunk('l', 0), encodePieces(pieces, stamp), 11),
      kv(keys.item('l', 'a'), encodePart(['4'], stamp), 12),
    ];
    const { n, l } = Object.fromEntries(decodeFields(entries, keys));
    expect(n).toMatchObject({ content: { kind: 'claim', ref: a }, claimed: 100 });
    expect(l!.content).toEqual({
      kind: 'list',
      pieces: [{ ref: a }, { values: [1, 2] }, { ref: b }, { values: [[3], 4] }],
    });
    expect(claimedBytes(l!.content)).toBe(200);
    expect(encodePieces([{ values: [1] }, { values: ['x'] }], stamp)).toBe(encodePart(['1', '"x"'], stamp));
  });

  it('takes a value that looks like a reference for a value', () => {
    const ref = formatPayloadRef({ digest: 'a'.repeat(64), bytes: 1 });
    for (const value of [{ ref }, { p: [{ ref }] }, { list: 1 }, [{ ref }]]) {
      const entry = kv(keys.head('n'), encodeHead(JSON.stringify(value), stamp), 1);
      expect(decodeFields([entry], keys).get('n')).toMatchObject({ content: { kind: 'value', value }, claimed: 0 });
    }
  });

  it('and cannot be read is said, not guessed', () => {
    expect(() => decodeFields([kv(keys.head('n'), 'rubbish', 1)], keys)).toThrow(/cannot be read; delete it/);
  });
});

import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { LargeValue } from '../../src/context/encoded';
import { PatchBodies } from '../../src/context/patch-body';
import { refusal } from '../registry/support';

/** Compiled: a thread runs what Node understands. `npm test` builds first. */
const ENTRY = resolve(__dirname, '../../dist/src/context/patch-thread.js');

const bodyOf = (operations: unknown) => Buffer.from(JSON.stringify({ operations }));
const text = '发票🧾'.repeat(100_000);
const list = Array.from({ length: 30_000 }, (_, n) => ({ n }));
const set = (field: string, value: unknown) => ({ op: 'set', field, value, base_version: 0 });

it('has the compiled thread', () => expect(existsSync(ENTRY)).toBe(true));

describe.each([
  ['in a thread', ENTRY],
  ['in place', null],
])('a large batch that is read %s', (_where, entry) => {
  const bodies = new PatchBodies(entry);

  it('comes with its large values as text, and with the others as they are', async () => {
    const operations = [set('text', text), set('small', { a: 1 }), { op: 'append', field: 'l', value: list }];
    const read = await bodies.read(bodyOf([...operations, { op: 'delete', field: 'd', force: true }]));
    expect(read[1]).toEqual(operations[1]);
    expect(read[3]).toEqual({ op: 'delete', field: 'd', force: true });
    for (const [n, isList] of [
      [0, false],
      [2, true],
    ] as const) {
      const { value, ...rest } = read[n] as { op: string; field: string; value: LargeValue };
      const json = JSON.stringify((operations[n] as { value: unknown }).value);
      expect(rest).toEqual({ ...operations[n], value: undefined });
      expect(value).toBeInstanceOf(LargeValue);
      expect(value).toMatchObject({ isList, sha256: createHash('sha256').update(json).digest('hex') });
      expect(Buffer.from(value.json).toString('utf8') === json).toBe(true);
    }
  });

  it('is refused with the pointer of what is wrong, and the next one is read', async () => {
    const spaces = ' '.repeat(600_000);
    const torn = Buffer.from(
      `{"operations":[{"op":"set","field":"a","value":{"b":1,"b":2},"base_version":0}]}${spaces}`,
    );
    const [double, unguarded, fine] = await Promise.all([
      refusal(bodies.read(torn)),
      refusal(bodies.read(bodyOf([{ op: 'set', field: 'a', value: text }]))),
      bodies.read(bodyOf([set('a', text)])),
    ]);
    expect(double).toMatchObject({
      code: 'duplicate_key',
      options: { errors: [{ pointer: '/operations/0/value/b' }] },
    });
    expect(unguarded.options.errors).toMatchObject([{ pointer: '/operations/0/base_version' }]);
    expect(fine).toHaveLength(1);
  });

  it('with more values than one may have is refused before it is parsed', async () => {
    const many = Buffer.from(`{"operations":[{"op":"append","field":"a","value":[${'[],'.repeat(4_000_001)}0]}]}`);
    expect((await refusal(bodies.read(many))).code).toBe('payload_too_large');
  });
});

/** The checker on histories made by hand: what it accepts and what it must not. */
import type { ContextOperation } from '../../../src/protocol/context';
import { append, remove, set } from '../support';
import { checkLinearizable } from './checker';
import type { Input, Operation, Output } from './history';

type Row = [call: number, returned: number, input: Input, output: Output];

const verdict = (...rows: Row[]) =>
  checkLinearizable(
    rows.map(([call, returned, input, output], op): Operation => ({
      client: op,
      op,
      key: 'k',
      input,
      call,
      return: returned,
      output,
    })),
  ).linearizable;

const get: Input = { kind: 'get' };
const del: Input = { kind: 'delete' };
const patch = (...operations: ContextOperation[]): Input => ({ kind: 'patch', operations });
const fields = (seen: Record<string, [value: unknown, version: number]>) =>
  ({
    kind: 'fields',
    fields: Object.fromEntries(Object.entries(seen).map(([name, [value, version]]) => [name, { value, version }])),
  }) as Output;
const patched = (versions: Record<string, number>): Output => ({ kind: 'patched', versions });
const conflict = (field: string, base_version: number, current_version: number, current_value: unknown): Output =>
  ({ kind: 'conflict', conflicts: [{ field, base_version, current_version, current_value }] }) as Output;
const absent: Output = { kind: 'absent' };
const unknown: Output = { kind: 'unknown' };
const NEVER = Number.POSITIVE_INFINITY;

describe('accepts', () => {
  it('operations in order, and concurrent ones in either', () => {
    expect(verdict([0, 1, patch(set('a', 1, 0)), patched({ a: 5 })], [2, 3, get, fields({ a: [1, 5] })])).toBe(true);
    expect(
      verdict(
        [0, 9, patch(set('a', 1, 0)), patched({ a: 5 })],
        [1, 2, get, absent],
        [3, 4, get, fields({ a: [1, 5] })],
      ),
    ).toBe(true);
  });

  it('one winner of two from the same version, whichever', () => {
    const base: Row = [0, 1, patch(set('a', 0, 0)), patched({ a: 1 })];
    expect(
      verdict(
        base,
        [2, 9, patch(set('a', 1, 1)), patched({ a: 3 })],
        [2, 9, patch(set('a', 2, 1)), conflict('a', 1, 3, 1)],
      ),
    ).toBe(true);
  });

  it('an unknown write that happened, late, or never', () => {
    const write: Row = [0, NEVER, patch(set('a', 1, 0), append('l', 'x')), unknown];
    expect(verdict(write, [1, 2, get, absent])).toBe(true);
    expect(verdict(write, [1, 2, get, fields({ a: [1, 7], l: [['x'], 7] })])).toBe(true);
    expect(verdict(write, [1, 2, get, absent], [3, 4, get, fields({ a: [1, 7], l: [['x'], 7] })])).toBe(true);
    expect(
      verdict(
        write,
        [1, 2, get, fields({ a: [1, 7], l: [['x'], 7] })],
        [3, 4, patch(set('a', 2, 7)), patched({ a: 8 })],
      ),
    ).toBe(true);
  });

  it('versions that go on after deletion', () => {
    const made: Row = [0, 1, patch(set('a', 1, 0)), patched({ a: 5 })];
    expect(verdict(made, [2, 3, del, { kind: 'deleted' }], [4, 5, patch(set('a', 1, 0)), patched({ a: 6 })])).toBe(
      true,
    );
  });
});

describe('refuses', () => {
  const made: Row = [0, 1, patch(set('a', 1, 0)), patched({ a: 5 })];

  it.each<[string, Row[]]>([
    ['a read of the past', [made, [2, 3, get, absent]]],
    [
      'a read of the future',
      [
        [0, 1, get, fields({ a: [1, 5] })],
        [2, 3, patch(set('a', 1, 0)), patched({ a: 5 })],
      ],
    ],
    ['a value nobody wrote', [made, [2, 3, get, fields({ a: [2, 5] })]]],
    ['a version nobody was told', [made, [2, 3, get, fields({ a: [1, 6] })]]],
    [
      'two winners from one version',
      [made, [2, 9, patch(set('a', 2, 5)), patched({ a: 6 })], [2, 9, patch(set('a', 3, 5)), patched({ a: 7 })]],
    ],
    ['a stale base that was let through', [made, [2, 3, patch(set('a', 2, 4)), patched({ a: 6 })]]],
    ['a conflict where there is none', [made, [2, 3, patch(set('a', 2, 5)), conflict('a', 5, 5, 1)]]],
    ['a conflict with another value', [made, [2, 3, patch(set('a', 2, 0)), conflict('a', 0, 5, 9)]]],
    [
      'a conflict that does not name every field',
      [made, [2, 3, patch(set('a', 2, 0), set('b', 1, 3)), conflict('a', 0, 5, 1)]],
    ],
    [
      'half a batch',
      [
        [0, 1, patch(set('a', 1, 0), set('b', 1, 0)), patched({ a: 5, b: 5 })],
        [2, 3, get, fields({ a: [1, 5] })],
      ],
    ],
    [
      'a lost append',
      [
        [0, 1, patch(append('l', 1)), patched({ l: 5 })],
        [2, 3, patch(append('l', 2)), patched({ l: 6 })],
        [4, 5, get, fields({ l: [[2], 6] })],
      ],
    ],
    [
      'an append twice',
      [
        [0, 1, patch(append('l', 1)), patched({ l: 5 })],
        [2, 3, get, fields({ l: [[1, 1], 5] })],
      ],
    ],
    [
      'a version that restarts after a deletion',
      [made, [2, 3, patch(remove('a', 5)), patched({})], [4, 5, patch(set('a', 1, 0)), patched({ a: 1 })]],
    ],
    [
      'a version that restarts with its context',
      [made, [2, 3, del, { kind: 'deleted' }], [4, 5, patch(set('b', 1, 0)), patched({ b: 5 })]],
    ],
    [
      'a deleted field that is read',
      [made, [2, 3, patch(remove('a', 5)), patched({})], [4, 5, get, fields({ a: [1, 5] })]],
    ],
    [
      'an unknown write that comes and goes',
      [
        [0, NEVER, patch(set('a', 1, 0)), unknown],
        [1, 2, get, fields({ a: [1, 5] })],
        [3, 4, get, absent],
      ],
    ],
    [
      'an unknown write of half a batch',
      [
        [0, NEVER, patch(set('a', 1, 0), set('b', 1, 0)), unknown],
        [1, 2, get, fields({ a: [1, 5] })],
      ],
    ],
    [
      'an unknown write against its base',
      [made, [2, NEVER, patch(set('a', 2, 4)), unknown], [3, 4, get, fields({ a: [2, 6] })]],
    ],
    [
      'an unknown version before one known',
      [made, [2, NEVER, patch(append('l', 1)), unknown], [3, 4, get, fields({ a: [1, 5], l: [[1], 3] })]],
    ],
    [
      'a batch with two versions',
      [
        [0, NEVER, patch(set('a', 1, 0), set('b', 1, 0)), unknown],
        [1, 2, get, fields({ a: [1, 5], b: [1, 6] })],
      ],
    ],
    ['an append to what is no list', [made, [2, 3, patch(append('a', 1)), patched({ a: 6 })]]],
    [
      'a refusal of an append to a list',
      [
        [0, 1, patch(append('l', 1)), patched({ l: 5 })],
        [2, 3, patch(append('l', 2)), { kind: 'no-list' }],
      ],
    ],
  ])('%s', (_, rows) => {
    expect(verdict(...rows)).toBe(false);
  });

  it('saying how far it came, and what could not come next', () => {
    const operation = (op: number, input: Input, output: Output): Operation => ({
      client: 0,
      op,
      key: 'k',
      input,
      call: op * 2,
      return: op * 2 + 1,
      output,
    });
    const read = operation(1, get, fields({ a: [2, 5] }));
    expect(checkLinearizable([operation(0, patch(set('a', 1, 0)), patched({ a: 5 })), read])).toMatchObject({
      linearizable: false,
      key: 'k',
      longest: [0],
      stuck: [read],
    });
  });
});

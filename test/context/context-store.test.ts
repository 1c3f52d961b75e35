import { randomUUID } from 'node:crypto';
import type { ContextOperation, ContextConflict } from '../../src/protocol/context';
import { type ReachError } from '../../src/protocol/reach-error';
import { refusal } from '../registry/support';
import { append, counting, openContexts, remove, set, type ContextPlace } from './support';

let place: ContextPlace;
let id: string;

beforeAll(() => {
  place = openContexts();
});
afterAll(() => place.close());
beforeEach(() => {
  id = `ctx/${randomUUID()}`;
});

const patch = (...operations: ContextOperation[]) => place.store.patch({ contextId: id, operations, by: 'tester' });
const versionOf = async (field: string) => (await place.store.get(id)).fields[field]!.version;
const valueOf = async (field: string) => (await place.store.get(id)).fields[field]?.value;
const conflictsOf = (error: ReachError): ContextConflict[] => error.options.extra?.conflicts ?? [];

describe('fields', () => {
  it('are set from a version, read with it, and deleted from it', async () => {
    const made = await patch(set('a', { deep: [1] }, 0));
    const { version } = made.fields.a!;
    expect(made).toMatchObject({
      context_id: id,
      deleted: [],
      fields: { a: { value: { deep: [1] }, updated_by: 'tester' } },
    });
    expect(await place.store.get(id)).toEqual({ context_id: id, fields: made.fields });

    const next = await patch(set('a', null, version));
    expect(next.fields.a!.version).toBeGreaterThan(version);
    expect(await patch(remove('a', next.fields.a!.version))).toMatchObject({ fields: {}, deleted: ['a'] });
    expect((await refusal(place.store.get(id))).code).toBe('not_found');
  });

  it.each([
    'constructor',
    'toString',
    'hasOwnProperty',
    '../../x',
    'a/b',
    '%2f',
    'h',
    't',
    'é',
    '工单',
    ' ',
    '.',
    'a,b',
  ])('may be called %s', async (name) => {
    await patch(set(name, 1, 0), append(`${name}-list`, 2));
    expect(Object.entries((await place.store.get(id)).fields).map(([field, { value }]) => [field, value])).toEqual(
      expect.arrayContaining([
        [name, 1],
        [`${name}-list`, [2]],
      ]),
    );
    expect((await place.store.get(id, [name])).fields).toMatchObject({ [name]: { value: 1 } });
  });

  it('keep to their context', async () => {
    await patch(set('mine', 1, 0));
    const other = `${id}/h`;
    await place.store.patch({ contextId: other, operations: [set('mine', 2, 0)], by: 'tester' });
    expect(await place.store.delete(other)).toBe(true);
    expect(await valueOf('mine')).toBe(1);
  });

  it('can be read alone, in the same breath', async () => {
    await patch(set('a', 1, 0), append('b', 1), append('b', 2), set('c', 3, 0));
    expect(Object.keys((await place.store.get(id, ['a', 'b'])).fields)).toEqual(['a', 'b']);
    expect((await place.store.get(id, ['nobody'])).fields).toEqual({});
    expect((await refusal(place.store.get(`${id}-none`, ['a']))).code).toBe('not_found');
  });

  it('keep every JSON value as it is', async () => {
    const values = [0.1, 1e21, -0.5, 9007199254740991, '', '\u0000"\\', [], {}, [[]], { list: 1 }, [null], false];
    await patch(...values.map((value, n) => set(`v${n}`, value, 0)));
    const { fields } = await place.store.get(id);
    expect(values.map((_, n) => fields[`v${n}`]!.value)).toEqual(values);
  });
});

describe('conflicts', () => {
  it('name every field, with what it is now, and write nothing', async () => {
    await patch(set('a', 1, 0), set('b', [1], 0), set('c', 3, 0));
    await patch(append('b', 2));
    const at = await place.store.get(id);
    const error = await refusal(
      patch(
        set('a', 9, 1),
        set('b', 9, 1),
        set('c', 9, at.fields.c!.version),
        set('d', 9, 7),
        remove('a2', 5),
        append('log', 1),
      ),
    );
    expect(error.code).toBe('context_conflict');
    expect(conflictsOf(error)).toEqual([
      { field: 'a', base_version: 1, current_version: at.fields.a!.version, current_value: 1 },
      { field: 'b', base_version: 1, current_version: at.fields.b!.version, current_value: [1, 2] },
      { field: 'd', base_version: 7, current_version: 0, current_value: null },
      { field: 'a2', base_version: 5, current_version: 0, current_value: null },
    ]);
    expect(error.options.errors!.map(({ pointer }) => pointer)).toEqual(
      [0, 1, 3, 4].map((n) => `/operations/${n}/base_version`),
    );
    expect(await place.store.get(id)).toEqual(at);
  });

  it('base version 0 is for fields that do not exist', async () => {
    await patch(set('a', 1, 0));
    expect(conflictsOf(await refusal(patch(set('a', 2, 0))))).toMatchObject([{ base_version: 0, current_value: 1 }]);
    expect((await refusal(patch(remove('a', 0)))).code).toBe('context_conflict');
    expect(await patch(remove('nobody', 0))).toMatchObject({ deleted: ['nobody'] });
  });

  it('force overwrites and deletes whatever there is', async () => {
    await patch(set('a', 1), remove('b'));
    await patch(set('a', 2));
    expect(await valueOf('a')).toBe(2);
    await patch(remove('a'), set('c', 1));
    expect(Object.keys((await place.store.get(id)).fields)).toEqual(['c']);
  });

  it('versions go on after deletion, of the field and of the whole context', async () => {
    const first = (await patch(set('a', 1, 0))).fields.a!.version;
    await patch(remove('a', first));
    const second = (await patch(set('a', 1, 0))).fields.a!.version;
    expect(second).toBeGreaterThan(first);
    expect((await refusal(patch(set('a', 2, first)))).code).toBe('context_conflict');
    await place.store.delete(id);
    const third = (await patch(set('a', 1, 0))).fields.a!.version;
    expect(third).toBeGreaterThan(second);
    expect((await refusal(patch(set('a', 2, second)))).code).toBe('context_conflict');
  });
});

describe('lists', () => {
  it('are made by the first append, and hold values in order, each as one', async () => {
    const { fields } = await patch(append('log', 'a'), append('log', ['b']));
    expect(fields.log).not.toHaveProperty('value');
    await patch(append('log', null));
    expect(await valueOf('log')).toEqual(['a', ['b'], null]);
    expect(await versionOf('log')).toBeGreaterThan(fields.log!.version);
  });

  it('can be set, appended to, and set anew', async () => {
    await patch(set('l', [1, 2], 0));
    await patch(append('l', 3));
    await patch(set('l', [9], await versionOf('l')));
    await patch(append('l', 10));
    expect(await valueOf('l')).toEqual([9, 10]);
    await patch(set('l', 'text', await versionOf('l')));
    expect(await valueOf('l')).toBe('text');
    await patch(set('l', [], await versionOf('l')));
    await patch(append('l', 1));
    expect(await valueOf('l')).toEqual([1]);
    await patch(remove('l', await versionOf('l')));
    await patch(append('l', 2));
    expect(await valueOf('l')).toEqual([2]);
  });

  it('an append to what is no list is refused, with all of its batch', async () => {
    await patch(set('n', 1, 0), set('o', {}, 0));
    const error = await refusal(patch(set('other', 1, 0), append('n', 1), append('o', 1)));
    expect(error).toMatchObject({
      code: 'invalid_request',
      message: expect.stringMatching(/is not a list \(it holds number 1\)/),
    });
    expect(error.options.errors!.map(({ pointer }) => pointer)).toEqual(['/operations/1/field', '/operations/2/field']);
    expect(await valueOf('other')).toBeUndefined();
  });

  it('an append after a version was read makes that version stale', async () => {
    const { version } = (await patch(append('l', 1))).fields.l!;
    await patch(append('l', 2));
    expect(conflictsOf(await refusal(patch(set('l', [], version))))).toMatchObject([{ current_value: [1, 2] }]);
  });

  it('long ones are folded without losing order, version or value', async () => {
    const values = Array.from({ length: 950 }, (_, n) => n);
    for (let at = 0; at < values.length; at += 50)
      await Promise.all(values.slice(at, at + 50).map((value) => patch(append('l', value))));
    await patch(append('l', 'end'));
    await place.store.close();
    const { value, version } = (await place.store.get(id)).fields.l!;
    expect((value as unknown[]).at(-1)).toBe('end');
    expect([...(value as number[])].slice(0, -1).sort((a, b) => a - b)).toEqual(values);
    const keys = await place.etcd.getAll().prefix(place.options.keyPrefix).keys();
    expect(keys.filter((key) => key.includes(encodeURIComponent(id)) && key.includes('/i/')).length).toBeLessThan(200);
    await patch(set('l', 'over', version));
    expect(await valueOf('l')).toBe('over');
  });
});

describe('what is refused', () => {
  it('a field that a batch changes twice, but for appends', async () => {
    const error = await refusal(patch(set('a', 1, 0), append('b', 1), set('a', 2, 0), remove('b', 0)));
    expect(error.options.errors!.map(({ pointer }) => pointer)).toEqual(['/operations/2/field', '/operations/3/field']);
  });

  it('a name that would reach a prototype', async () => {
    const error = await refusal(patch(set('fine', 1, 0), set('__proto__', 1, 0)));
    expect(error).toMatchObject({ code: 'forbidden_key', options: { errors: [{ pointer: '/operations/1/field' }] } });
  });

  it('values, batches and contexts over their limits', async () => {
    const mega = 'x'.repeat(1_048_576 - 2);
    await patch(set('a', mega, 0));
    expect((await refusal(patch(set('b', `${mega}x`, 0)))).code).toBe('payload_too_large');
    const half = 'x'.repeat(800_000);
    expect((await refusal(patch(set('b', half, 0), set('c', half, 0)))).message).toMatch(/in several requests/);
    await patch(set('b', mega, 0));
    await patch(set('c', mega, 0));
    const full = await refusal(patch(set('d', mega, 0)));
    expect(full).toMatchObject({
      code: 'payload_too_large',
      message: expect.stringMatching(/over its limit of 4194304 bytes/),
    });
    await patch(set('d', 'little', 0));
    await patch(set('c', 'less'));
    await patch(set('e', mega, 0));
  });
});

describe('what it costs', () => {
  it('an update is one request to etcd, the first of a process two round trips', async () => {
    const { etcd, asked } = counting(place.etcd);
    const store = place.another({ etcd });
    const write = async (...operations: ContextOperation[]) => {
      asked.length = 0;
      await store.patch({ contextId: id, operations, by: 'tester' });
      return [...asked];
    };
    // Lease and size are found out side by side; the stream of keep-alives is opened by the way.
    expect((await write(set('a', 1, 0))).sort()).toEqual(['leaseGrant', 'leaseKeepAlive', 'range', 'txn']);
    expect(await write(set('a', 2, (await place.store.get(id)).fields.a!.version))).toEqual(['txn']);
    expect(await write(set('b', [1]), set('c', {}), remove('a'))).toEqual(['txn']);
    expect(await write(append('log', 1))).toEqual(['txn', 'txn']); // the second makes the list
    expect(await write(append('log', 2))).toEqual(['txn']);
    asked.length = 0;
    await store.get(id);
    await store.get(id, ['a', 'log']);
    expect(asked).toEqual(['range', 'txn']);
    asked.length = 0;
    await refusal(store.patch({ contextId: id, operations: [set('b', 1, 0), set('log', 1, 0)], by: 'tester' }));
    expect(asked).toEqual(['txn']);
  });
});

describe('time to live', () => {
  it('is counted from the last write and not from a read; all fields go at once', async () => {
    const short = place.another({ ttlMs: 3_000 });
    const write = (field: string) => short.patch({ contextId: id, operations: [set(field, 1)], by: 'tester' });
    await write('early');
    let lastWriteMs = 0;
    for (let n = 0; n < 8; n += 1) {
      await new Promise((resolve) => setTimeout(resolve, 500));
      lastWriteMs = performance.now();
      await write('late');
    }
    expect(Object.keys((await short.get(id)).fields)).toEqual(['early', 'late']);
    let seen: string[] = ['early', 'late'];
    while (seen.length > 0 && performance.now() - lastWriteMs < 20_000) {
      expect(seen).toEqual(['early', 'late']);
      await new Promise((resolve) => setTimeout(resolve, 100));
      seen = await short.get(id).then(
        ({ fields }) => Object.keys(fields),
        () => [],
      );
    }
    expect(performance.now() - lastWriteMs).toBeGreaterThan(2_900);
    expect(performance.now() - lastWriteMs).toBeLessThan(15_000);
    await write('again');
    expect(Object.keys((await short.get(id)).fields)).toEqual(['again']);
  }, 60_000);
});

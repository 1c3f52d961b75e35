/** Large values of contexts in blobs: read as if they were in etcd, collected when no field refers to them, and never before. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Etcd3 } from 'etcd3';
import { ClaimSweep, LargeContext, type ContextStore } from '../../src/context';
import { BlobStore } from '../../src/payloads';
import { FileStore } from '../../src/payloads/file-store';
import type { ObjectStore } from '../../src/payloads';
import type { ContextConflict, ContextOperation } from '../../src/protocol/context';
import type { Json } from '../../src/protocol/shapes';
import type { ReachError } from '../../src/protocol/reach-error';
import { Keyspace } from '../../src/registry/keys';
import { refusal } from '../registry/support';
import { append, openContexts, remove, set, type ContextPlace } from './support';

const AREA = 'default/contexts';
const GRACE_MS = 3_600_000;
/** As a file that was last used so long ago: over twice the grace. */
const LONG_AGO_MS = 3 * GRACE_MS;

let place: ContextPlace;
let directory: string;
let objects: FileStore;
let store: ContextStore;
let id: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'context-claims-'));
  objects = new FileStore(directory);
  place = openContexts(undefined, { claims: claimsIn(objects) });
  store = place.store;
});
afterAll(async () => {
  await place.close();
  rmSync(directory, { recursive: true, force: true });
});
beforeEach(() => {
  id = `ctx/${randomUUID()}`;
});

const claimsIn = (where: ObjectStore) => ({
  blobs: new BlobStore({ objects: where, area: AREA, retentionMs: Infinity }),
  aboveBytes: 1_000,
  maxValueBytes: 2_000_000,
});
const patch = (...operations: ContextOperation[]) => store.patch({ contextId: id, operations, by: 'tester' });
const valueOf = async (field: string) => (await store.get(id)).fields[field]?.value;
const versionOf = async (field: string) => (await store.get(id)).fields[field]!.version;
const conflictsOf = (error: ReachError): ContextConflict[] => error.options.extra?.conflicts ?? [];

/** A text that no other test writes, over the threshold. */
const large = (bytes = 5_000): string => randomUUID().padEnd(bytes, '·');

async function blobsNow(): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of objects.list(`${AREA}/`)) keys.push(key);
  return keys;
}

/** The keys of blobs that came into being meanwhile. */
async function blobsOf(run: () => Promise<unknown>): Promise<string[]> {
  const before = new Set(await blobsNow());
  await run();
  return (await blobsNow()).filter((key) => !before.has(key));
}

/** As if the blobs had not been used for a long time. */
function age(keys: readonly string[], byMs = LONG_AGO_MS): void {
  const then = new Date(new Date().getTime() - byMs);
  for (const key of keys) utimesSync(join(directory, key), then, then);
}

function sweeper(where: ObjectStore = objects): ClaimSweep {
  const { keyPrefix, tenant } = place.options;
  const nowMs = () => new Date().getTime();
  return new ClaimSweep({
    etcd: place.etcd,
    keyspace: new Keyspace(keyPrefix, tenant),
    objects: where,
    area: AREA,
    graceMs: GRACE_MS,
    nowMs,
  });
}

async function textOf(contextId: string, only?: string[]): Promise<unknown> {
  const found = await store.open(contextId, only);
  if (!(found instanceof LargeContext)) return found;
  const chunks: Uint8Array[] = [];
  for await (const chunk of found.chunks()) chunks.push(chunk);
  const text = Buffer.concat(chunks);
  expect(text.byteLength).toBe(found.bytes);
  return JSON.parse(text.toString('utf8'));
}

describe('large values', () => {
  it('are read as if they were in etcd, whichever way they came; versions and conflicts stay what they are', async () => {
    const texts = [large(), large(), large(), large()];
    const { fields } = await patch(set('text', texts[0], 0), set('small', 1, 0), set('list', [texts[1], 'end'], 0));
    expect(fields.text).toMatchObject({ value: texts[0], updated_by: 'tester' });
    await patch(append('list', texts[2]), append('list', { n: 1 }), append('log', texts[3]));
    await patch(append('log', 'end'));
    const context = await store.get(id);
    const values = Object.fromEntries(Object.entries(context.fields).map(([name, { value }]) => [name, value]));
    expect(values).toEqual({
      text: texts[0],
      small: 1,
      list: [texts[1], 'end', texts[2], { n: 1 }],
      log: [texts[3], 'end'],
    });
    expect(context.fields.text).toEqual(fields.text);
    expect(await textOf(id)).toEqual(context);
    expect(await textOf(id, ['log', 'small'])).toEqual(await store.get(id, ['log', 'small']));
    const stored = await place.etcd.getAll().prefix(place.options.keyPrefix).strings();
    expect(Math.max(...Object.values(stored).map(({ length }) => length))).toBeLessThan(400);

    const error = await refusal(patch(set('text', 'other', 1), set('list', large(), await versionOf('list'))));
    expect(conflictsOf(error)).toEqual([
      { field: 'text', base_version: 1, current_version: fields.text!.version, current_value: texts[0] },
    ]);
    await patch(set('text', 'small now', fields.text!.version), remove('list'));
    expect(await valueOf('text')).toBe('small now');
  });

  it('may be lists of every form, and survive folding', async () => {
    const folding = place.another({ foldAt: 5 });
    const expected: Json[] = [];
    for (let n = 0; n < 14; n += 1) {
      const value = n % 3 === 0 ? large() : n;
      expected.push(value);
      await folding.patch({ contextId: id, operations: [append('log', value)], by: 'tester' });
    }
    await folding.close();
    expect(await valueOf('log')).toEqual(expected);
    expect(await textOf(id)).toEqual(await store.get(id));
    const keys = await place.etcd.getAll().prefix(place.options.keyPrefix).keys();
    expect(keys.some((key) => key.includes(encodeURIComponent(id)) && key.includes('/c/'))).toBe(true);
  });

  it('of a batch that would not fit into one transaction are blobs as well', async () => {
    const wide = place.another({ claims: { ...claimsIn(objects), aboveBytes: 65_536 } });
    const operations = Array.from({ length: 30 }, (_, n) => set(`f${n}`, large(30_000), 0));
    await wide.patch({ contextId: id, operations, by: 'tester' });
    const { fields } = await wide.get(id);
    expect(operations.map(({ field }) => fields[field]!.value)).toEqual(
      operations.map((operation) => (operation as { value: Json }).value),
    );
  });

  it('are bounded, and so is a context', async () => {
    const maxValueBytes = 20_000;
    const small = place.another({ claims: { ...claimsIn(objects), maxValueBytes } });
    const write = (...operations: ContextOperation[]) => small.patch({ contextId: id, operations, by: 'tester' });
    const error = await refusal(write(set('fine', 1, 0), set('big', 'x'.repeat(maxValueBytes), 0)));
    expect(error).toMatchObject({
      code: 'payload_too_large',
      options: { errors: [{ pointer: '/operations/1/value', fix: expect.any(String) }] },
    });
    const text = (bytes: number) => randomUUID().padEnd(bytes - 2, 'x');
    for (const field of ['a', 'b', 'c', 'd']) await write(set(field, text(maxValueBytes - 10), 0));
    expect((await refusal(write(set('e', text(2_000), 0)))).message).toMatch(/80000 bytes of large values/);
    await write(set('d', text(maxValueBytes - 2_000)), set('e', text(1_900), 0));
  });

  it('that are very large stand in a conflict by where to read them', async () => {
    await patch(set('big', 'x'.repeat(1_500_000), 0), set('medium', large(), 0));
    const [big, medium] = conflictsOf(await refusal(patch(set('big', 1, 0), set('medium', 1, 0))));
    expect(big).toMatchObject({ current_value: null, current_value_ref: { bytes: 1_500_002 } });
    expect(big!.current_value_ref!.href).toBe(`/v1/contexts/${encodeURIComponent(id)}?fields=big`);
    expect(medium).toMatchObject({ current_value: await valueOf('medium') });
  });

  it('of a stale write, or of one to what is no list, leave nothing behind', async () => {
    await patch(set('n', 1, 0), append('l', 1));
    const left = await blobsOf(async () => {
      expect((await refusal(patch(set('n', large(), 1)))).code).toBe('context_conflict');
      expect((await refusal(patch(append('n', large())))).code).toBe('invalid_request');
    });
    expect(left).toEqual([]);
  });
});

describe('an append that names a version', () => {
  it('holds it: it conflicts like a set, and without one never', async () => {
    const { version } = (await patch(append('l', 1))).fields.l!;
    await patch({ op: 'append', field: 'l', value: 2, base_version: version });
    const stale = { op: 'append', field: 'l', value: 3, base_version: version } as const;
    const error = await refusal(patch(append('x', 1), append('l', 4), stale));
    expect(conflictsOf(error)).toEqual([
      { field: 'l', base_version: version, current_version: await versionOf('l'), current_value: [1, 2] },
    ]);
    expect(error.options.errors).toMatchObject([{ pointer: '/operations/2/base_version' }]);
    await patch({ ...stale, force: true }, append('l', 4));
    expect(await valueOf('l')).toEqual([1, 2, 3, 4]);
  });

  it('makes a list at version 0 only where there is nothing, and none of what is none', async () => {
    const first: ContextOperation = { op: 'append', field: 'l', value: 1, base_version: 0 };
    await patch(first, { ...first, value: 2 });
    expect(await valueOf('l')).toEqual([1, 2]);
    expect((await refusal(patch(first))).code).toBe('context_conflict');
    const { version } = (await patch(set('n', { a: 1 }, 0))).fields.n!;
    const error = await refusal(patch({ op: 'append', field: 'n', value: 1, base_version: version }));
    expect(error).toMatchObject({ code: 'invalid_request', options: { errors: [{ pointer: '/operations/0/field' }] } });
    const torn = await refusal(patch({ ...first, field: 'm' }, { ...first, field: 'm', base_version: 7 }));
    expect(torn.options.errors).toMatchObject([{ pointer: '/operations/1/base_version' }]);
    expect(await valueOf('n')).toEqual({ a: 1 });
  });
});

describe('blobs', () => {
  it('stay while a field refers to them, however old they are, and go when none does, after the grace', async () => {
    const shared = large();
    const made = await blobsOf(() => patch(set('a', shared, 0), set('b', shared, 0), set('l', [large(), 1], 0)));
    expect(made).toHaveLength(2);
    age(made);
    expect(await sweeper().run()).toMatchObject({ removed: 0 });
    await patch(set('a', 1), remove('l'));
    expect(await sweeper().run()).toMatchObject({ removed: 0 }); // marked as used by the sweep before
    age(made);
    expect(await sweeper().run()).toMatchObject({ removed: 1 }); // the list's: b still refers to the other
    expect(await valueOf('b')).toBe(shared);
  });

  it('that were written and then not referred to, as by a process that died in between, are collected', async () => {
    const dying = place.another({ claims: claimsIn(objects), etcd: brokenAfterLook(place.etcd) });
    const orphans = await blobsOf(async () => {
      const operations = [set('a', large(), 0)];
      await expect(dying.patch({ contextId: id, operations, by: 'tester' })).rejects.toThrow();
    });
    expect(orphans).toHaveLength(1);
    expect((await refusal(store.get(id))).code).toBe('not_found');
    await sweeper().run();
    expect(await blobsNow()).toEqual(expect.arrayContaining(orphans)); // it could be about to be referred to
    age(orphans);
    await sweeper().run();
    expect(await blobsNow()).not.toEqual(expect.arrayContaining(orphans));
  });

  it('go with their context, whether it was deleted or its time is over', async () => {
    const made = await blobsOf(async () => {
      await patch(set('a', large(), 0));
      await place
        .another({ claims: claimsIn(objects), ttlMs: 1_000 })
        .patch({ contextId: `${id}-short`, operations: [set('a', large(), 0)], by: 'tester' });
    });
    await store.delete(id);
    const deadline = performance.now() + 10_000;
    while (performance.now() < deadline && (await store.get(`${id}-short`).catch(() => null)) !== null)
      await new Promise((resolve) => setTimeout(resolve, 100));
    age(made);
    expect((await sweeper().run()).removed).toBeGreaterThanOrEqual(2);
    for (const key of made) expect(await objects.info(key)).toBeNull();
    const keys = await place.etcd.getAll().prefix(place.options.keyPrefix).keys();
    expect(keys.filter((key) => key.includes('/refs/') && key.includes(encodeURIComponent(id)))).toEqual([]);
  }, 20_000);

  it('of content that was collected come back with whoever writes it again', async () => {
    const value = large();
    const [key] = await blobsOf(() => patch(set('a', value, 0)));
    await patch(remove('a'));
    age([key!]);
    expect((await sweeper().run()).removed).toBe(1);
    await patch(set('a', value, 0));
    expect(await valueOf('a')).toBe(value);
    age([key!]);
    await sweeper().run();
    expect(await valueOf('a')).toBe(value);
  });

  it('are never removed from under a writer, where the store cannot remove on a condition', async () => {
    const value = large();
    const [key] = await blobsOf(() => patch(set('a', value, 0)));
    await patch(remove('a'));
    age([key!]);
    const slow = unconditional(objects);
    const sweeping = sweeper(slow.objects).run();
    await slow.looked; // the sweep is sure that nothing uses the blob, and about to remove it
    const writing = patch(set('b', value, 0), set('c', large(), 0));
    await new Promise((resolve) => setTimeout(resolve, 300));
    slow.goOn();
    expect((await sweeping).removed).toBe(1);
    await writing;
    expect(await valueOf('b')).toBe(value);
    expect(await objects.info(key!)).not.toBeNull();
  });

  it('that somebody removed by hand are told as what they are', async () => {
    const [key] = await blobsOf(() => patch(set('a', large(), 0), set('b', 1, 0)));
    await objects.delete(key!);
    expect(await refusal(store.get(id))).toMatchObject({ code: 'internal', message: expect.stringContaining('"a"') });
    expect((await store.get(id, ['b'])).fields.b!.value).toBe(1);
    const [conflict] = conflictsOf(await refusal(patch(set('a', 1, 0))));
    expect(conflict).toMatchObject({ current_value: null, current_value_ref: { bytes: expect.any(Number) } });
    await patch(set('a', 'mended', conflict!.current_version));
    expect(await valueOf('a')).toBe('mended');
  });

  it('are read anew when they were replaced while they were looked for', async () => {
    const [key] = await blobsOf(() => patch(set('a', large(), 0)));
    await objects.delete(key!);
    const { blobs, ...rest } = claimsIn(objects);
    const touch = async (ref: string) => {
      const isThere = await blobs.touch(ref);
      if (!isThere) await patch(set('a', 'replaced'));
      return isThere;
    };
    const late = place.another({
      claims: { ...rest, blobs: new Proxy(blobs, { get: (_, name) => (name === 'touch' ? touch : undefined) }) },
    });
    expect((await late.get(id)).fields.a!.value).toBe('replaced');
  });
});

/** An etcd that answers everything but transactions that write, as a process sees it that dies before its own. */
function brokenAfterLook(etcd: Etcd3): Etcd3 {
  const kv = new Proxy(etcd.kv, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return async (request: { success?: { request_put?: object }[] }) => {
        if (name === 'txn' && request.success?.some(({ request_put: put }) => put !== undefined))
          throw new Error('died');
        return Reflect.apply(member, target, [request]) as unknown;
      };
    },
  });
  return new Proxy(etcd, { get: (target, name) => (name === 'kv' ? kv : Reflect.get(target, name, target)) });
}

/** A store that looks at the age and then removes, as S3 does; it stops in between until it is told to go on. */
function unconditional(from: FileStore): { objects: ObjectStore; looked: Promise<void>; goOn: () => void } {
  let looked: () => void = () => undefined;
  let goOn: () => void = () => undefined;
  const told = new Promise<void>((resolve) => (goOn = resolve));
  const wrapped = new Proxy<ObjectStore>(from, {
    get(target, name) {
      if (name !== 'delete') {
        const member: unknown = Reflect.get(target, name, target);
        return typeof member === 'function' ? (member.bind(target) as unknown) : member;
      }
      return async (key: string, { unusedSinceMs = Infinity } = {}) => {
        const info = await target.info(key);
        if (info === null || info.usedMs >= unusedSinceMs) return false;
        looked();
        await told;
        return target.delete(key);
      };
    },
  });
  return { objects: wrapped, looked: new Promise<void>((resolve) => (looked = resolve)), goOn: () => goOn() };
}

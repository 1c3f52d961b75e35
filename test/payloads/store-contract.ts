import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { BlobStore } from '../../src/payloads';
import type { ObjectStore } from '../../src/payloads/object-store';
import { sha256 } from './support';

const HOUR_MS = 3_600_000;
/** S3 tells times in whole seconds. */
const SECOND_MS = 1_000;

/** What every store of large payloads must do. `make` opens the same store again each time, as another process would. */
export function describeStore(name: string, make: () => ObjectStore): void {
  describe(name, () => {
    let store: ObjectStore;
    let other: ObjectStore;
    let area: string;
    beforeAll(() => {
      store = make();
      other = make();
    });
    afterAll(() => {
      store.close();
      other.close();
    });
    beforeEach(() => (area = `test-${randomUUID()}`));

    const key = (leaf: string) => `${area}/${leaf}`;
    const listed = async (prefix = `${area}/`) => {
      const keys: string[] = [];
      for await (const info of store.list(prefix)) keys.push(info.key);
      return keys.sort();
    };
    const read = async (stream: AsyncIterable<Uint8Array> | null) => {
      const pieces: Uint8Array[] = [];
      for await (const piece of stream ?? []) pieces.push(piece);
      return Buffer.concat(pieces);
    };

    it('gives back what was put, here and to others', async () => {
      const content = randomBytes(300_000);
      expect(await store.put(key('a/one'), content)).toBe(true);
      expect(await other.get(key('a/one'))).toEqual(content);
      expect(await read(await other.stream(key('a/one')))).toEqual(content);
      const target = Buffer.alloc(300_000);
      expect(await other.readInto(key('a/one'), target)).toBe(300_000);
      expect(target).toEqual(content);
      expect(await store.info(key('a/one'))).toMatchObject({ key: key('a/one'), bytes: 300_000 });
    });

    it('gives parts of it, and nothing for an empty part', async () => {
      await store.put(key('one'), Buffer.from('0123456789'));
      expect(String(await read(await store.stream(key('one'), { start: 2, end: 5 })))).toBe('234');
      expect(String(await read(await store.stream(key('one'), { start: 9, end: 10 })))).toBe('9');
      expect(await read(await store.stream(key('one'), { start: 3, end: 3 }))).toHaveLength(0);
    });

    it('knows nothing of what was not put', async () => {
      expect(await store.get(key('none'))).toBeNull();
      expect(await store.readInto(key('none'), Buffer.alloc(1))).toBeNull();
      expect(await store.stream(key('none'))).toBeNull();
      expect(await store.info(key('none'))).toBeNull();
      expect(await store.touch(key('none'), new Date().getTime())).toBe(false);
      expect(await store.delete(key('none'))).toBe(false);
      expect(await listed()).toEqual([]);
    });

    it('replaces what is there, unless it must not', async () => {
      await store.put(key('one'), Buffer.from('first'));
      expect(await store.put(key('one'), Buffer.from('second'), { ifAbsent: true })).toBe(false);
      expect(String(await store.get(key('one')))).toBe('first');
      await store.put(key('one'), Buffer.from('third'));
      expect(String(await store.get(key('one')))).toBe('third');
    });

    it('lets one of many win who put what must not be there', async () => {
      const puts = Array.from({ length: 12 }, (_, n) =>
        (n % 2 ? store : other).put(key('race'), Buffer.from(`from ${n}`), { ifAbsent: true }),
      );
      const won = (await Promise.all(puts)).flatMap((first, n) => (first ? [n] : []));
      expect(won).toHaveLength(1);
      expect(String(await store.get(key('race')))).toBe(`from ${won[0]}`);
    });

    it('lists what is below a prefix, and only that', async () => {
      await store.put(key('a/one'), Buffer.from('1'));
      await store.put(key('a/b/two'), Buffer.from('22'));
      await store.put(key('c/three'), Buffer.from('333'));
      expect(await listed()).toEqual([key('a/b/two'), key('a/one'), key('c/three')]);
      expect(await listed(`${area}/a/`)).toEqual([key('a/b/two'), key('a/one')]);
    });

    it('notes when it was used, and never takes that back', async () => {
      const nowMs = new Date().getTime();
      await store.put(key('one'), Buffer.from('1'));
      const usedMs = async () => (await other.info(key('one')))?.usedMs ?? 0;
      expect(Math.abs((await usedMs()) - nowMs)).toBeLessThan(60_000);
      expect(await store.touch(key('one'), nowMs + 48 * HOUR_MS)).toBe(true);
      expect(await usedMs()).toBeGreaterThanOrEqual(nowMs + 48 * HOUR_MS - SECOND_MS);
      expect(await store.touch(key('one'), nowMs + HOUR_MS)).toBe(true);
      expect(await usedMs()).toBeGreaterThanOrEqual(nowMs + 48 * HOUR_MS - SECOND_MS);
      expect(String(await other.get(key('one')))).toBe('1');
    });

    it('removes, and with a time only what was not used since', async () => {
      const nowMs = new Date().getTime();
      await store.put(key('old'), Buffer.from('1'));
      await store.put(key('needed'), Buffer.from('1'));
      await store.touch(key('needed'), nowMs + 2 * HOUR_MS);
      const unusedSinceMs = nowMs + HOUR_MS;
      expect(await store.delete(key('old'), { unusedSinceMs: nowMs - HOUR_MS })).toBe(false);
      expect(await store.delete(key('needed'), { unusedSinceMs })).toBe(false);
      expect(await store.delete(key('old'), { unusedSinceMs })).toBe(true);
      expect(await listed()).toEqual([key('needed')]);
      expect(await store.delete(key('needed'))).toBe(true);
    });

    it('keeps a blob once, however many put it', async () => {
      const blobs = [store, other].map((objects) => new BlobStore({ objects, area, retentionMs: HOUR_MS }));
      const content = randomBytes(200_000);
      const refs = await Promise.all(Array.from({ length: 8 }, (_, n) => blobs[n % 2]!.put(content)));
      expect(new Set(refs)).toEqual(new Set([`sha256:${sha256(content)}:200000`]));
      expect(await listed()).toHaveLength(1);
      expect(await blobs[1]!.get(refs[0]!)).toEqual(content);
    });

    it('collects the blobs that nothing has used for the retention time, and no other', async () => {
      let offsetMs = 0;
      const nowMs = () => new Date().getTime() + offsetMs;
      const blobs = new BlobStore({ objects: store, area, retentionMs: 10 * HOUR_MS, nowMs });
      const old = await blobs.put(Buffer.from('old'));
      const pending = await blobs.put(Buffer.from('of a reach that may take days'), { keepMs: 100 * HOUR_MS });
      const used = await blobs.put(Buffer.from('used again'));
      offsetMs = 8 * HOUR_MS;
      expect(await blobs.touch(used)).toBe(true);
      expect(await blobs.sweep()).toMatchObject({ blobs: 3, removed: 0 });
      offsetMs = 11 * HOUR_MS;
      expect(await blobs.sweep()).toMatchObject({ blobs: 2, removed: 1 });
      await expect(blobs.get(old)).rejects.toMatchObject({ code: 'not_found' });
      expect(String(await blobs.get(used))).toBe('used again');
      expect(String(await blobs.get(pending))).toBe('of a reach that may take days');
    });

    it('never loses a blob to a sweep while it is put again', async () => {
      let offsetMs = 0;
      const nowMs = () => new Date().getTime() + offsetMs;
      const settings = { area, retentionMs: HOUR_MS, nowMs };
      const [putting, sweeping] = [store, other].map((objects) => new BlobStore({ ...settings, objects }));
      const content = Buffer.from('coming back');
      await putting!.put(content);
      offsetMs = 2 * HOUR_MS;
      // Its time is over: it counts as gone for whoever wants to rely on it, before the sweep and after.
      expect(await putting!.touch(`sha256:${sha256(content)}:${content.length}`)).toBe(false);
      await sweeping!.sweep();
      offsetMs = 0;
      const ref = await putting!.put(content);
      await Promise.all([sweeping!.sweep(), sleep(1)]);
      expect(await putting!.get(ref)).toEqual(content);
    });

    it('takes a reference of the wrong length for what it is', async () => {
      const blobs = new BlobStore({ objects: store, area, retentionMs: HOUR_MS });
      const ref = await blobs.put(Buffer.from('content'));
      for (const wrong of [`${ref}0`, ref.replace(/:\d+$/, ':6'), 'sha256:../../etc/passwd:7', '']) {
        await expect(blobs.get(wrong)).rejects.toMatchObject({ code: 'not_found' });
        if (wrong.startsWith('sha256:') && !wrong.includes('..')) expect(await blobs.touch(wrong)).toBe(false);
      }
    });
  });
}

import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VectorCache } from './vector-cache';
import { VectorFile, type StoredVector } from './vector-file';

let dir: string;
let path: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'vectors-'));
  path = join(dir, 'deep', 'vectors.bin');
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const record = (n: number): StoredVector => ({
  hash: n.toString(16).padStart(64, '0'),
  vector: Float32Array.from([n, -n, 0.5]),
});
const MIB = 1_048_576;

async function written(...numbers: number[]): Promise<void> {
  const file = new VectorFile(path, MIB);
  await file.append(numbers.map(record), () => []);
  await file.close();
}

async function stored(file = new VectorFile(path, MIB)): Promise<StoredVector[]> {
  const records: StoredVector[] = [];
  await file.load((one) => records.push(one));
  return records;
}

test('what was appended is read again, by another process as well', async () => {
  await written(1, 2);
  await written(3);
  expect(await stored()).toEqual([record(1), record(2), record(3)]);
});

test('an absent file is empty', async () => {
  expect(await stored()).toEqual([]);
});

test.each([1, 5, 40])('a file cut %i bytes short loses its last record only, and can be appended to', async (bytes) => {
  await written(1, 2);
  truncateSync(path, statSync(path).size - bytes);
  const file = new VectorFile(path, MIB);
  expect(await stored(file)).toEqual([record(1)]);
  await file.append([record(3)], () => []);
  await file.close();
  expect(await stored()).toEqual([record(1), record(3)]);
});

test('a spoilt record and what follows is dropped, garbage too', async () => {
  await written(1, 2, 3);
  const content = readFileSync(path);
  content[content.length / 3 + 40]! ^= 0xff;
  writeFileSync(path, content);
  expect(await stored()).toEqual([record(1)]);
  appendFileSync(path, 'garbage that is long enough to look like a record, but is none at all');
  expect(await stored()).toEqual([record(1)]);
});

test('a file that would grow too large starts anew with the newest', async () => {
  const size = 32 + 2 + 3 * 4 + 4;
  const file = new VectorFile(path, size * 4);
  await file.append([1, 2, 3, 4].map(record), () => []);
  await file.append([record(5)], () => [5, 4, 3, 2, 1].map(record));
  await file.append([record(6)], () => []);
  await file.close();
  expect(await stored()).toEqual([4, 5, 6].map(record));
});

/** Counts the turns of the event loop that others had meanwhile. */
function turnCounter() {
  let turns = 0;
  let next = setImmediate(function count() {
    turns += 1;
    next = setImmediate(count);
  });
  return { count: () => turns, stop: () => clearImmediate(next) };
}

test('the others get their turns while many are written anew or read', async () => {
  const many = Array.from({ length: 20_000 }, (_, n) => record(n));
  const size = 32 + 2 + 3 * 4 + 4;
  const turns = turnCounter();
  const seen: number[] = [];
  function* keep() {
    for (const one of many) {
      seen.push(turns.count());
      yield one;
    }
  }
  const file = new VectorFile(path, many.length * 2 * size);
  await file.append([...many, ...many, record(1)], keep);
  expect(seen.at(-1)! - seen[0]!).toBeGreaterThanOrEqual(19);
  await file.close();

  const read: { one: StoredVector; turn: number }[] = [];
  await file.load((one) => read.push({ one, turn: turns.count() }));
  turns.stop();
  expect(read.map(({ one }) => one)).toEqual(many.toReversed());
  expect(read.at(-1)!.turn - read[0]!.turn).toBeGreaterThanOrEqual(19);
});

test('after a failure later records are written all the same', async () => {
  const blocked = join(dir, 'deep');
  writeFileSync(blocked, 'a file where the directory should be');
  const file = new VectorFile(path, MIB);
  await expect(file.append([record(1)], () => [])).rejects.toThrow();
  rmSync(blocked);
  await file.append([record(2)], () => []);
  await file.close();
  expect(await stored()).toEqual([record(2)]);
});

test('what was written in part is taken back, so that later records can be read', async () => {
  await written(1);
  const probe = await open(path, 'a');
  const handles = Object.getPrototypeOf(probe) as FileHandle;
  await probe.close();
  // A disk that becomes full in the middle of a record cannot be had here.
  const full = jest.spyOn(handles, 'appendFile').mockImplementationOnce(async function (this: FileHandle, block) {
    await this.write((block as Buffer).subarray(0, 7));
    throw new Error('ENOSPC');
  });
  const file = new VectorFile(path, MIB);
  await expect(file.append([record(2)], () => [])).rejects.toThrow('ENOSPC');
  await file.append([record(3)], () => []);
  await file.close();
  full.mockRestore();
  expect(await stored()).toEqual([record(1), record(3)]);
});

test('the cache keys by model, forgets the least recently used, and survives an unwritable file', async () => {
  const file = join(dir, 'cache.bin');
  const cache = new VectorCache({ model: 'm1', file, maxEntries: 2 });
  await cache.load();
  cache.set(['a', 'b'], [Float32Array.of(1), Float32Array.of(2)]);
  cache.get('a');
  cache.set(['c'], [Float32Array.of(3)]);
  expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual([Float32Array.of(1), undefined, Float32Array.of(3)]);
  await cache.close();

  const again = new VectorCache({ model: 'm1', file });
  await again.load();
  expect(again.get('b')).toEqual(Float32Array.of(2));
  const other = new VectorCache({ model: 'm2', file });
  await other.load();
  expect(other.get('b')).toBeUndefined();

  const unwritable = new VectorCache({ model: 'm1', file: join(file, 'below-a-file') });
  await unwritable.load();
  unwritable.set(['a'], [Float32Array.of(1)]);
  await unwritable.close();
  expect(unwritable.get('a')).toEqual(Float32Array.of(1));
});

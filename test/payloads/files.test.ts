import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { FileStore } from '../../src/payloads/file-store';
import { describeStore } from './store-contract';

const directory = mkdtempSync(join(tmpdir(), 'agent-reach-files-'));
describeStore('files', () => new FileStore(directory));

describe('a directory', () => {
  it('is not there before the first object', async () => {
    const fresh = join(mkdtempSync(join(tmpdir(), 'agent-reach-files-')), 'payloads');
    const store = new FileStore(fresh);
    expect(await store.get('a/b')).toBeNull();
    for await (const info of store.list('a/')) throw new Error(`found ${info.key}`);
    await store.removeScratch(new Date().getTime());
    expect(existsSync(fresh)).toBe(false);
  });

  it.each(['../out', 'a/../../out', '/etc/passwd', 'a//b', '', 'a/.scratch', 'A/b', 'a\u0000b'])(
    'is never left by way of the key %j',
    async (key) => {
      const store = new FileStore(directory);
      await expect(store.put(key, Buffer.from('x'))).rejects.toMatchObject({ code: 'internal' });
      await expect((async () => store.get(key))()).rejects.toMatchObject({ code: 'internal' });
    },
  );

  it('that cannot be used says so, and what to look at', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'agent-reach-files-')), 'a-file');
    writeFileSync(file, '');
    const store = new FileStore(join(file, 'below'));
    await expect(store.put('a/b', Buffer.from('x'))).rejects.toMatchObject({
      code: 'engine_unavailable',
      message: expect.stringContaining('payloads.store'),
    });
  });

  it('is rid of what a process that died was writing, and of nothing younger', async () => {
    const own = mkdtempSync(join(tmpdir(), 'agent-reach-files-'));
    const store = new FileStore(own);
    mkdirSync(join(own, '.scratch'));
    writeFileSync(join(own, '.scratch', 'half'), 'half of');
    await store.removeScratch(new Date().getTime());
    expect(readdirSync(join(own, '.scratch'))).toEqual(['half']);
    await store.removeScratch(new Date().getTime() + 3_700_000);
    expect(readdirSync(join(own, '.scratch'))).toEqual([]);
  });
});

describe('the directory of an upload', () => {
  it('goes with the last of its chunks', async () => {
    const own = mkdtempSync(join(tmpdir(), 'agent-reach-files-'));
    const store = new FileStore(own);
    await store.put('u/one/0', Buffer.from('x'));
    await store.put('u/one/1', Buffer.from('x'));
    await store.put('u/two/0', Buffer.from('x'));
    await store.delete('u/one/0');
    expect(readdirSync(join(own, 'u')).sort()).toEqual(['one', 'two']);
    await store.delete('u/one/1');
    expect(readdirSync(join(own, 'u'))).toEqual(['two']);
  });

  it('may go at any moment: what is put meanwhile is there', async () => {
    const own = mkdtempSync(join(tmpdir(), 'agent-reach-files-'));
    const [store, other] = [new FileStore(own), new FileStore(own)];
    for (let round = 0; round < 40; round += 1) {
      await store.put('u/one/0', Buffer.from('x'));
      const [, put] = await Promise.all([other.delete('u/one/0'), store.put('u/one/1', Buffer.from('y'))]);
      expect([put, await store.get('u/one/1')]).toEqual([true, Buffer.from('y')]);
      await store.delete('u/one/1');
    }
    expect(readdirSync(join(own, 'u'))).toEqual([]);
  });
});

it('a directory that cannot be listed is the store’s trouble, not a fault of the platform', async () => {
  const own = mkdtempSync(join(tmpdir(), 'agent-reach-files-'));
  symlinkSync(join(own, 'loop'), join(own, 'loop'));
  const listing = new FileStore(own).list('loop/')[Symbol.asyncIterator]();
  await expect(listing.next()).rejects.toMatchObject({
    code: 'engine_unavailable',
    message: expect.stringContaining('cannot list (ELOOP)'),
  });
});

describe('a disk that is full', () => {
  const full = process.platform === 'linux' ? it : it.skip;

  full('is told apart, and leaves neither an object nor half a file', async () => {
    const own = mkdtempSync(join(tmpdir(), 'agent-reach-files-'));
    chmodSync(own, 0o700);
    const script = join(own, 'put.sh');
    // A limit on the size of files stands for a disk that is full half way through one.
    writeFileSync(script, `trap '' XFSZ; ulimit -f 128; exec "$@"`);
    const child = join(__dirname, 'put-in-child.cjs');
    const { stdout } = await promisify(execFile)('bash', [script, process.execPath, child, join(own, 'store')]);
    expect(JSON.parse(stdout)).toEqual({ small: true, large: 'storage_full', info: null, scratch: [] });
  });
});

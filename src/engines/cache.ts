import { constants } from 'node:fs';
import { access, mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';

import { ENGINE_PINS } from './pins';
import type { EngineName } from './types';

const STAGING_PREFIX = '.staging-';
const ABANDONED_AFTER_MS = 60 * 60 * 1000;

/** Folder that installed engines are kept in: `AGENT_REACH_CACHE`, else the XDG cache folder's `agent-reach`. */
export function engineCacheDir(env: NodeJS.ProcessEnv = process.env): string {
  if (env.AGENT_REACH_CACHE) return env.AGENT_REACH_CACHE;
  return join(env.XDG_CACHE_HOME || join(env.HOME || homedir(), '.cache'), 'agent-reach');
}

/** Folder of one engine in its pinned version; it exists only when the installation is complete. */
export function engineDir(name: EngineName, env: NodeJS.ProcessEnv = process.env): string {
  return join(engineCacheDir(env), `${name}-${ENGINE_PINS[name].version}`);
}

/** Whether `path` is a file that this user may execute. */
export async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

/**
 * Gives `fill` a fresh folder beside the engine's, then moves what it put there into place in one step. A process that
 * dies on the way leaves no half-installed engine, and of two that install at once the first to finish wins.
 */
export async function publishEngine(
  name: EngineName,
  env: NodeJS.ProcessEnv,
  fill: (staging: string) => Promise<string>,
): Promise<void> {
  const root = engineCacheDir(env);
  await mkdir(root, { recursive: true });
  await removeAbandoned(root);
  const staging = await mkdtemp(join(root, `${STAGING_PREFIX}${name}-`));
  try {
    await moveIntoPlace(await fill(staging), name, env);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

async function moveIntoPlace(filled: string, name: EngineName, env: NodeJS.ProcessEnv): Promise<void> {
  const target = engineDir(name, env);
  try {
    await rename(filled, target);
  } catch (error) {
    if (!isOccupied(error)) throw error;
    if (await isExecutable(join(target, ENGINE_PINS[name].program))) return;
    // Somebody emptied the folder by hand: replace what is left of it.
    await rm(target, { recursive: true, force: true });
    await rename(filled, target);
  }
}

function isOccupied(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code;
  return code === 'ENOTEMPTY' || code === 'EEXIST';
}

/** Removes what installations that were killed have left behind. */
async function removeAbandoned(root: string): Promise<void> {
  // Compared with file times, which are wall-clock times.
  const oldest = new Date().getTime() - ABANDONED_AFTER_MS;
  for (const entry of await readdir(root)) {
    if (!entry.startsWith(STAGING_PREFIX)) continue;
    const path = join(root, entry);
    const modified = await stat(path).then(
      (s) => s.mtimeMs,
      () => Infinity,
    );
    if (modified < oldest) await rm(path, { recursive: true, force: true });
  }
}

import { join, resolve } from 'node:path';

import { engineCacheDir } from './cache';
import { launch, type Launch } from './launch';
import { ensureEngine } from './locate';
import { freePorts, LOOPBACK } from './ports';
import { answersOk, until } from './probe';
import type { EnsureOptions, RunningEngine } from './types';

/** How to run the embedded embedding server. */
export interface EmbeddingsOptions extends EnsureOptions {
  /** Default: a free one. */
  port?: number;
  /** Default: `embeddings.log` in the cache folder, as the server has no data folder. */
  logFile?: string;
}

/**
 * Starts the offline embedding server (multilingual-e5-small, Chinese and English among others) on loopback.
 * `address` is the base URL of an OpenAI-compatible API: POST `${address}/embeddings`.
 *
 * @throws {EngineUnsupportedError} off x86-64 Linux; ask `embeddingsSupported` first.
 * @throws {EngineError} other kinds: not found, not installable, or did not start.
 */
export async function startEmbeddings(options: EmbeddingsOptions = {}): Promise<RunningEngine> {
  const { env = process.env } = options;
  const program = await ensureEngine('embeddings', options);
  const logFile = resolve(options.logFile ?? join(engineCacheDir(env), 'embeddings.log'));
  const plan = async (): Promise<Launch> => {
    const port = options.port ?? (await freePorts(1))[0] ?? 0;
    const origin = `http://${LOOPBACK}:${port}`;
    return {
      command: program.path,
      args: ['--host', LOOPBACK, '--port', String(port), '--threads', '1'],
      // One thread: a text takes some 30 ms on it, and the other cores are Temporal's and ours.
      env: { ...env, ...program.env, OMP_NUM_THREADS: '1', PYTHONUNBUFFERED: '1' },
      logFile,
      address: `${origin}/v1`,
      ports: [port],
      ready: (signal) => until(() => answersOk(`${origin}/health`), signal),
    };
  };
  return launch('embeddings', plan, options.port === undefined);
}

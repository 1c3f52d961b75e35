import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePorts } from '../../src/engines/ports';

/** A Redis of a test. */
export interface RedisServer {
  url: string;
  /** Ends it at once, as a crash would. Safe to call again. */
  kill(): Promise<void>;
  /** Starts it anew on its port, without what it knew. */
  restart(): Promise<void>;
}

/** `redis-server` on PATH or in /usr/bin; undefined when it is not installed (Debian: the package `redis-server`). */
export function redisProgram(): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/bin', '/usr/local/bin'];
  return folders.map((folder) => join(folder, 'redis-server')).find(isExecutable);
}

/** Starts a Redis that keeps nothing on disk, on a free port of loopback; another process may have taken it meanwhile. */
export async function startRedis(program: string): Promise<RedisServer> {
  const dir = mkdtempSync(join(tmpdir(), 'agent-reach-redis-'));
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    const [port] = await freePorts(1);
    let child = await spawnRedis(program, port!, dir);
    if (!child) continue;
    const end = async () => {
      if (!child || child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    };
    return {
      url: `redis://127.0.0.1:${port}`,
      async kill() {
        await end();
        rmSync(dir, { recursive: true, force: true });
      },
      async restart() {
        await end();
        child = await spawnRedis(program, port!, dir);
        if (!child) throw new Error(`${program} did not start again on port ${port}`);
      },
    };
  }
  rmSync(dir, { recursive: true, force: true });
  throw new Error(`${program} did not start on three ports`);
}

/** Null when it ended before it served. */
async function spawnRedis(program: string, port: number, dir: string): Promise<ChildProcess | null> {
  const args = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', dir, '--save', '', '--appendonly', 'no'];
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  return (await isReady(child)) ? child : null;
}

/** False when it ended before it served. */
async function isReady(child: ChildProcess): Promise<boolean> {
  const lines = createInterface({ input: child.stdout! });
  for await (const line of lines) {
    if (line.includes('Ready to accept connections')) {
      child.stdout!.resume();
      return true;
    }
  }
  return false;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

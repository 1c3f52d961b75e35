import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** A server that speaks S3, started for a suite. */
export interface S3Server {
  endpoint: string;
  close(): Promise<void>;
}

/** Where the tests' own copy of the server goes. */
const OWN = resolve(__dirname, '../../node_modules/.cache/agent-reach-moto');
const INSTALL_TIMEOUT_MS = 180_000;
const START_TIMEOUT_MS = 90_000;

/** The program that serves S3: the system's, or one that is installed now with Python; null, and why, when neither is there. */
export function findS3Server(): { program: string } | { missing: string } {
  const own = join(OWN, 'bin', 'moto_server');
  try {
    if (works('moto_server')) return { program: 'moto_server' };
    if (!existsSync(own)) {
      const options = { stdio: 'ignore', timeout: INSTALL_TIMEOUT_MS } as const;
      execFileSync('python3', ['-m', 'venv', OWN], options);
      execFileSync(join(OWN, 'bin', 'pip'), ['install', '--quiet', 'moto[server]==5.2.5'], options);
    }
    return works(own) ? { program: own } : { missing: `${own} does not run` };
  } catch (caught) {
    return { missing: `moto[server] cannot be installed: ${(caught as Error).message.split('\n')[0]}` };
  }
}

function works(program: string): boolean {
  try {
    execFileSync(program, ['--help'], { stdio: 'ignore', timeout: 30_000 });
    return true;
  } catch {
    return false;
  }
}

/** Starts it on a free port of loopback and waits until it answers. */
export async function startS3Server(program: string): Promise<S3Server> {
  const port = await freePort();
  const child = spawn(program, ['-H', '127.0.0.1', '-p', String(port)], { stdio: 'ignore' });
  const endpoint = `http://127.0.0.1:${port}`;
  await ready(endpoint, child);
  return {
    endpoint,
    async close() {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await ended;
    },
  };
}

async function ready(endpoint: string, child: ChildProcess): Promise<void> {
  const endsMs = performance.now() + START_TIMEOUT_MS;
  while (performance.now() < endsMs && child.exitCode === null) {
    if (
      await fetch(endpoint).then(
        () => true,
        () => false,
      )
    )
      return;
    await sleep(100);
  }
  child.kill('SIGKILL');
  throw new Error('the S3 server did not start');
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}

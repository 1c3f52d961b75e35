import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { stringify } from 'yaml';
import { readyLine } from '../support/ready-line';

const DIST = resolve(__dirname, '../../dist/src');

/** A compiled root running as a process of its own, as in production. */
export interface PlatformProcess {
  /** What it announced on its `ready …` line. */
  ready: string;
  child: ChildProcess;
  /** Ends with the process; never rejects. */
  exited: Promise<number | null>;
  kill(signal: NodeJS.Signals): Promise<number | null>;
}

/** A configuration of its own on the shared engines: own task queue, own key prefix. Returns the file. */
export function writeConfig(more: Record<string, object> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'agent-reach-process-'));
  const file = join(folder, 'agent-reach.yaml');
  const config = {
    server: { port: 0, graceful_timeout: '5s' },
    temporal: {
      address: process.env.TEST_TEMPORAL_ADDRESS,
      agents_address: process.env.TEST_TEMPORAL_ADDRESS,
      task_queue: `test-${randomUUID()}`,
    },
    registry: { etcd: [process.env.TEST_ETCD_ADDRESS], key_prefix: `/test/${randomUUID()}` },
    security: { egress_allow: ['127.0.0.0/8'] },
    logging: { level: 'error' },
  };
  writeFileSync(file, stringify({ ...config, ...more }));
  return file;
}

/** Starts a root and waits until it is ready. */
export async function startRoot(root: 'gateway' | 'worker', args: string[]): Promise<PlatformProcess> {
  const script = join(DIST, `${root}.js`);
  if (!existsSync(script)) throw new Error(`${script} is missing: run npm run build`);
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = new Promise<number | null>((done) => child.once('exit', (code) => done(code)));
  let errors = '';
  child.stderr?.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const ready = await Promise.race([
    readyLine(child),
    exited.then((code) => Promise.reject(new Error(`${root} ended with ${code}: ${errors}`))),
  ]);
  return {
    ready,
    child,
    exited,
    kill(signal) {
      child.kill(signal);
      return exited;
    },
  };
}

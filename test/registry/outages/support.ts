import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEtcd, type RunningEngine } from '../../../src/engines';

/** An etcd of one test file, free to be frozen, killed, filled and emptied. */
export interface PrivateEtcd {
  readonly engine: RunningEngine;
  readonly address: string;
  /** Kills it without a word and waits until it is gone. */
  crash(): Promise<void>;
  /** Starts it again on the same port and the same keys. */
  restart(): Promise<void>;
  /** Starts another one, empty, on the same port. */
  replace(): Promise<void>;
  freeze(): void;
  thaw(): void;
  stop(): Promise<void>;
}

export async function startPrivateEtcd(options: { quotaBackendBytes?: number } = {}): Promise<PrivateEtcd> {
  const dataDir = mkdtempSync(join(tmpdir(), 'agent-reach-etcd-'));
  let engine = await startEtcd({ ...options, dataDir: join(dataDir, '0') });
  let generation = 0;
  const { address } = engine;
  return {
    get engine() {
      return engine;
    },
    address,
    async crash() {
      engine.kill('SIGKILL');
      await engine.exited;
    },
    restart: () => engine.restart!(),
    async replace() {
      await engine.stop();
      generation += 1;
      const port = Number(address.split(':')[1]);
      engine = await startEtcd({ ...options, dataDir: join(dataDir, String(generation)), port });
    },
    freeze: () => engine.kill('SIGSTOP'),
    thaw: () => engine.kill('SIGCONT'),
    async stop() {
      await engine.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

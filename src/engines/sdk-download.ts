import { chmod, mkdir, readdir, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { publishEngine } from './cache';
import { ENGINE_PINS } from './pins';
import type { EngineName } from './types';

/**
 * Last resort on a machine without Python: lets the Temporal SDK fetch its own server from its maker's site over TLS.
 * Returns false when that does not apply (another engine, the SDK's testing package not installed) or fails.
 */
export async function downloadWithSdk(name: EngineName, env: NodeJS.ProcessEnv): Promise<boolean> {
  if (name !== 'temporal' && name !== 'temporal-test-server') return false;
  try {
    await publishEngine(name, env, async (staging) => {
      const downloadDir = join(staging, 'download');
      await mkdir(downloadDir);
      await fetchInto(downloadDir, name);
      return arrange(staging, downloadDir, name);
    });
    return true;
  } catch {
    // The caller reports why pip failed, which is what can be repaired.
    return false;
  }
}

/** The SDK downloads a server only in order to run it. */
async function fetchInto(downloadDir: string, name: 'temporal' | 'temporal-test-server'): Promise<void> {
  const { TestWorkflowEnvironment } = await import('@temporalio/testing');
  const executable = { type: 'cached-download', downloadDir, version: `v${ENGINE_PINS[name].version}` } as const;
  const environment =
    name === 'temporal'
      ? await TestWorkflowEnvironment.createLocal({ server: { executable } })
      : await TestWorkflowEnvironment.createTimeSkipping({ server: { executable } });
  await environment.teardown();
}

async function arrange(staging: string, downloadDir: string, name: EngineName): Promise<string> {
  const [file] = await readdir(downloadDir);
  if (file === undefined) throw new Error('the SDK left no file');
  const target = join(staging, 'target');
  const program = join(target, ENGINE_PINS[name].program);
  await mkdir(dirname(program), { recursive: true });
  await rename(join(downloadDir, file), program);
  await chmod(program, 0o755);
  return target;
}

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { EngineInstallError } from './errors';
import { INSTEAD } from './hints';
import type { EngineName } from './types';

const run = promisify(execFile);
const PROBE = 'import sys; assert sys.version_info >= (3, 9); import pip; print(sys.executable)';

/**
 * Path of a Python 3.9 or newer that has pip.
 *
 * @throws {EngineInstallError} that says which of the two is missing and how to get it.
 */
export async function findPython(engine: EngineName, env: NodeJS.ProcessEnv): Promise<string> {
  let problem = 'Python 3 was not found';
  for (const command of ['python3', 'python']) {
    try {
      return (await run(command, ['-c', PROBE], { env, timeout: 20_000 })).stdout.trim();
    } catch (error) {
      problem = explain(command, error) ?? problem;
    }
  }
  throw new EngineInstallError(
    engine,
    `${engine} cannot be installed: ${problem}`,
    `Install Python 3.9 or newer with pip (Debian and Ubuntu: apt-get install python3 python3-pip; macOS: brew install python). ${INSTEAD[engine]}`,
  );
}

function explain(command: string, error: unknown): string | undefined {
  const { code, stderr = '' } = error as NodeJS.ErrnoException & { stderr?: string };
  if (code === 'ENOENT') return undefined;
  if (stderr.includes("No module named 'pip'")) return `${command} has no pip`;
  if (stderr.includes('AssertionError') || stderr.includes('SyntaxError')) return `${command} is older than 3.9`;
  return `${command} does not run (${stderr.trim().split('\n').at(-1) || String(code)})`;
}

import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { join } from 'node:path';
import { existsSync } from 'node:fs';
import { UsageError } from './exit-codes';

/** Understood by the composition roots: end when standard input ends, that is, also when this process is killed. */
const STOP_WITH_PARENT = 'AGENT_REACH_STOP_WITH_PARENT';
const FORWARDED = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The compiled composition root of this name, next to the compiled CLI. */
export function rootScript(name: 'dev' | 'gateway' | 'worker'): string {
  const script = join(__dirname, '..', `${name}.js`);
  if (existsSync(script)) return script;
  throw new UsageError(`${script} is not there; build it with \`npm run build\``);
}

/**
 * Runs a Node script in the foreground until it ends and returns its exit code, 128 + n after signal n. Signals are passed
 * on, each once: the child has a process group of its own, so that a terminal's Ctrl-C does not reach it twice.
 */
export function spawnRoot(script: string, args: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, [script, ...args], {
    stdio: ['pipe', 'inherit', 'inherit'],
    detached: true,
    env: { ...process.env, [STOP_WITH_PARENT]: '1' },
  });
  const forward = (signal: NodeJS.Signals) => void child.kill(signal);
  for (const signal of FORWARDED) process.on(signal, forward);
  return new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(code ?? 128 + (signal ? constants.signals[signal] : 0)));
  }).finally(() => {
    for (const signal of FORWARDED) process.off(signal, forward);
  });
}

import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync } from 'node:fs';
import type { Socket } from 'node:net';

import { openLog } from './log-file';
import type { EngineExit } from './types';

/** A program to run for as long as this process lives. */
export interface Supervised {
  command: string;
  args: string[];
  env: NodeJS.ProcessEnv;
  cwd?: string;
  /** Receives what the program writes to standard output and error. */
  logFile: string;
}

/** The process that runs it. */
export interface SupervisedProcess {
  pid: number;
  /** Never rejects. */
  exited: Promise<EngineExit>;
  hasExited(): boolean;
  kill(signal: NodeJS.Signals): void;
}

/**
 * The shell turns itself into the program (so its pid, signals and exit status are the program's own) and leaves a guard
 * behind, which reads from a pipe that only the parent can write to. However the parent ends, kill -9 included, the
 * pipe ends too; the guard then ends the process group, politely at first. It signals the group, never a bare pid:
 * the group's number cannot be given to strangers while the guard is in it. The guard itself ignores polite signals.
 */
const GUARD = `
{
  trap '' INT TERM HUP
  cat <&3 >/dev/null
  kill -s TERM -- -$$
  tries=0
  while [ $tries -lt 50 ] && kill -s 0 $$; do sleep 0.1; tries=$((tries + 1)); done
  kill -s KILL -- -$$
} 2>/dev/null &
exec "$@" 3<&-`;

/**
 * Starts a program in a session of its own, out of reach of the terminal's Ctrl-C, so that the parent decides the order
 * in which things stop; and bound to the parent's life, so that it never outlives it.
 */
export function supervise({ command, args, env, cwd, logFile }: Supervised): SupervisedProcess {
  const log = openLog(logFile);
  const child = spawn('/bin/sh', ['-c', GUARD, 'sh', command, ...args], {
    env,
    cwd,
    detached: true,
    stdio: ['ignore', log, log, 'pipe'],
  });
  closeSync(log);
  const lifeline = child.stdio[3] as Socket;
  lifeline.on('error', () => {});
  // Not a reason to keep the parent running; the child itself is, as with any child process.
  lifeline.unref();
  const exited = exitOf(child).finally(() => lifeline.destroy());
  return {
    pid: child.pid ?? -1,
    exited,
    hasExited: () => child.exitCode !== null || child.signalCode !== null || child.pid === undefined,
    kill: (signal) => void child.kill(signal),
  };
}

function exitOf(child: ChildProcess): Promise<EngineExit> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
    child.once('error', () => resolve({ code: null, signal: null }));
  });
}

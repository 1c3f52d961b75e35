/** Finds processes by a mark in their environment, which children inherit and reparenting does not take away. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** A process that is running now. */
export interface Found {
  pid: number;
  command: string;
}

/** Every process with `NAME=value` in its environment. Linux: /proc; elsewhere: ps. */
export function processesMarked(mark: string): Found[] {
  return existsSync('/proc/self/environ') ? fromProc(mark) : fromPs(mark);
}

/** Resolves when no marked process is left. Jest's timeout is the limit. */
export async function allGone(mark: string): Promise<void> {
  while (processesMarked(mark).length > 0) await delay(50);
}

function fromProc(mark: string): Found[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      if (!read(`/proc/${name}/environ`).split('\0').includes(mark)) return [];
      return [{ pid: Number(name), command: read(`/proc/${name}/cmdline`).replaceAll('\0', ' ').trim() }];
    });
}

/** Empty for a process that has ended meanwhile or belongs to somebody else. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function fromPs(mark: string): Found[] {
  const lines = execFileSync('ps', ['-axEww', '-o', 'pid=,command='], { encoding: 'utf8', maxBuffer: 1 << 26 }).split(
    '\n',
  );
  return lines.flatMap((line) => {
    const [, pid, command] = /^\s*(\d+)\s+(.*)$/.exec(line) ?? [];
    return pid && command?.split(' ').includes(mark) ? [{ pid: Number(pid), command }] : [];
  });
}

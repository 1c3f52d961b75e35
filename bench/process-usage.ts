/** CPU time and memory of other processes, from /proc; Linux only, elsewhere nothing is known. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Fields of /proc/PID/stat after the program's name (which may hold spaces and brackets): user and system time. */
const UTIME = 11;
const STIME = 12;

let ticksPerSecond: number | undefined;

/** User and system time that a process has used so far, ms; null where it cannot be read. */
export function cpuMs(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return ((Number(fields[UTIME]) + Number(fields[STIME])) * 1_000) / tickRate();
  } catch {
    return null;
  }
}

/** Resident memory of a process, MB (10^6 bytes); null where it cannot be read. */
export function residentMb(pid: number): number | null {
  try {
    const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kib === undefined ? null : (Number(kib) * 1_024) / 1e6;
  } catch {
    return null;
  }
}

function tickRate(): number {
  ticksPerSecond ??= Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }).trim());
  return ticksPerSecond;
}

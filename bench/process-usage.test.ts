import { execFileSync } from 'node:child_process';
import { cpuMs, residentMb } from './process-usage';

const onLinux = process.platform === 'linux' ? it : it.skip;

/** Uses CPU time for at least that long. */
function burn(ms: number): void {
  const start = process.cpuUsage();
  while (process.cpuUsage(start).user + process.cpuUsage(start).system < ms * 1_000);
}

describe('usage of a process', () => {
  onLinux('counts the CPU time that it uses', () => {
    const before = cpuMs(process.pid)!;
    burn(200);
    const used = cpuMs(process.pid)! - before;
    expect(used).toBeGreaterThanOrEqual(180);
    const whole = process.cpuUsage();
    expect(Math.abs(cpuMs(process.pid)! - (whole.user + whole.system) / 1_000)).toBeLessThan(100);
  });

  onLinux('agrees with Node on resident memory', () => {
    const node = process.memoryUsage.rss() / 1e6;
    expect(Math.abs(residentMb(process.pid)! - node)).toBeLessThan(node * 0.1);
  });

  it('knows nothing of a process that is gone', () => {
    const gone = Number(execFileSync(process.execPath, ['-p', 'process.pid'], { encoding: 'utf8' }));
    expect([cpuMs(gone), residentMb(gone)]).toEqual([null, null]);
  });
});

import { accessSync, constants, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';

/** Where Linux keeps files in memory. */
const MEMORY_DIR = '/dev/shm';
/** What the engines' data of a whole test run fits into, with room to spare, bytes. */
const NEEDED_BYTES = 4 * 2 ** 30;

/**
 * A temporary folder in memory for the data of engines that live for one test: they sync to disk a thousand times a run, which
 * is most of what tests would wait for. Null where there is no such place, or `TMPDIR` says where to put things.
 *
 * @returns {{env: {TMPDIR: string}, remove: () => void} | null}
 */
export function memoryFiles() {
  if (process.env.TMPDIR !== undefined) return null;
  try {
    accessSync(MEMORY_DIR, constants.W_OK);
    const { bavail, bsize } = statfsSync(MEMORY_DIR);
    if (bavail * bsize < NEEDED_BYTES) return null;
    const TMPDIR = mkdtempSync(join(MEMORY_DIR, 'agent-reach-'));
    return { env: { TMPDIR }, remove: () => rmSync(TMPDIR, { recursive: true, force: true }) };
  } catch {
    return null;
  }
}

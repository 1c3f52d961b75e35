import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A fresh folder for each test of the file that calls this; removed after the test. */
export function useTempDir(): () => string {
  let dir = '';
  beforeEach(async () => void (dir = await mkdtemp(join(tmpdir(), 'engines-'))));
  afterEach(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }));
  return () => dir;
}

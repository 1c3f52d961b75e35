import { existsSync, mkdirSync, openSync, renameSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';

const TAIL_LINES = 15;
const TAIL_CHARACTERS = 4000;

/** Opens an empty log for one run of an engine; the run before stays beside it as `….previous`, so two are kept at most. */
export function openLog(path: string): number {
  mkdirSync(dirname(path), { recursive: true });
  if (existsSync(path)) renameSync(path, `${path}.previous`);
  return openSync(path, 'a');
}

/** The last lines of a log, or an empty string when there is none. */
export async function logTail(path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch(() => '');
  return text.trimEnd().slice(-TAIL_CHARACTERS).split('\n').slice(-TAIL_LINES).join('\n');
}

import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/** The repository's root: this file runs from the sources (jest) and compiled, from `dist`. */
const ROOT = rootAbove(__dirname);

/** A compiled program of the repository. @throws Error that says how to build it */
export function compiled(...path: string[]): string {
  const file = join(ROOT, 'dist', ...path);
  if (!existsSync(file)) throw new Error(`${file} is missing: run npm run build`);
  return file;
}

function rootAbove(folder: string): string {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, 'package.json')) && existsSync(join(at, 'workflows'))) {
      return at.endsWith('/dist') ? resolve(at, '..') : at;
    }
    if (at === dirname(at)) throw new Error(`no folder above ${folder} is the repository`);
  }
}

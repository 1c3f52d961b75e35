import { mkdir, mkdtemp, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

import { transform } from '@swc/core';

const SOURCE = resolve(__dirname, '../../../src/engines');

/**
 * Compiles src/engines into a temporary folder and returns that folder: a process of its own, which a test may kill,
 * cannot load TypeScript, and `dist` may be stale or missing.
 */
export async function transpiledEngines(): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'engines-js-'));
  await symlink(resolve(__dirname, '../../../node_modules'), join(root, 'node_modules'));
  const out = join(root, 'engines');
  await mkdir(out);
  const sources = (await readdir(SOURCE)).filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
  for (const name of sources) {
    const { code } = await transform(await readFile(join(SOURCE, name), 'utf8'), {
      jsc: { target: 'es2022', parser: { syntax: 'typescript' } },
      module: { type: 'commonjs' },
    });
    await writeFile(join(out, name.replace(/\.ts$/, '.js')), code);
  }
  return root;
}

import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const MAIN = resolve(__dirname, '../../src/cli/main.ts');
/** Lets plain Node run the sources as they are, so that no build can be stale. */
const HOOK = `
  const { readFileSync } = require('node:fs');
  const { transformSync } = require(${JSON.stringify(require.resolve('@swc/core'))});
  require.extensions['.ts'] = (module, filename) => module._compile(transformSync(readFileSync(filename, 'utf8'), {
    filename, jsc: { parser: { syntax: 'typescript' }, target: 'es2022' }, module: { type: 'commonjs' },
  }).code, filename);
`;

/** Starts the CLI as a process of its own, for what only real streams do; `env` is added to PATH. */
export function startCli(args: readonly string[], options: { stdio: StdioOptions; env: object }): ChildProcess {
  const hook = join(mkdtempSync(join(tmpdir(), 'cli-process-')), 'hook.cjs');
  writeFileSync(hook, HOOK);
  const env = { PATH: process.env.PATH, ...options.env };
  return spawn(process.execPath, ['--require', hook, MAIN, ...args], { stdio: options.stdio, env });
}

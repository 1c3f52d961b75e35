// Brings a fresh clone to where it runs: dependencies, build, engines. Plain Node: it runs before node_modules exists.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { hashTree } from './lib/hash-tree.mjs';
import { paint, step, warn } from './lib/terminal.mjs';

/** Folder that holds package.json. */
export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

const OLDEST_NODE = [20, 19];
const BUILD_INPUTS = ['src', 'workflows', 'activities', 'examples', 'bench', 'scripts'];
const BUILD_INPUT_FILES = ['package.json', 'tsconfig.json', 'tsconfig.build.json'];
const MODULES_STAMP = join(ROOT, 'node_modules', '.agent-reach-stamp');
const BUILD_STAMP = join(ROOT, 'dist', '.build-stamp');

/** The engines that a running Agent-Reach uses; the tests use the time-skipping server as well. */
export const RUN_ENGINES = ['temporal', 'etcd', 'embeddings'];
export const TEST_ENGINES = [...RUN_ENGINES, 'temporal-test-server'];

/**
 * Does whatever is missing, in order, and prints only that. Returns whether every engine is there: a missing one is no
 * error yet, since an address may be configured instead.
 */
export async function bootstrap({ engines = TEST_ENGINES } = {}) {
  checkNode();
  if (!modulesAreCurrent()) await step('Installing dependencies', 'npm ci', installModules);
  const sources = hashTree(ROOT, BUILD_INPUTS, BUILD_INPUT_FILES);
  if (readStamp(BUILD_STAMP) !== sources) await step('Building', 'npm run build', () => build(sources));
  return ensureEngines(engines);
}

/** @throws {Error} when this Node is older than the oldest supported one. */
export function checkNode(version = process.versions.node) {
  const [major, minor] = version.split('.').map(Number);
  const recent = major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1]);
  if (!recent) throw new Error(`Agent-Reach needs Node ${OLDEST_NODE.join('.')} or newer; this is ${version}.`);
}

/** Installed from this very lock file by an earlier bootstrap, or by npm itself after the file last changed. */
function modulesAreCurrent() {
  const installed = join(ROOT, 'node_modules', '.package-lock.json');
  if (!existsSync(installed)) return false;
  if (readStamp(MODULES_STAMP) === lockHash()) return true;
  if (statSync(installed).mtimeMs < statSync(join(ROOT, 'package-lock.json')).mtimeMs) return false;
  writeFileSync(MODULES_STAMP, lockHash());
  return true;
}

async function installModules() {
  // npm reports to our standard error, so that standard output stays what the command itself prints.
  await npm(['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'], ['ignore', 2, 2]);
  writeFileSync(MODULES_STAMP, lockHash());
}

async function build(sources) {
  await npm(['run', '--silent', 'build'], ['ignore', 'pipe', 'pipe']);
  mkdirSync(dirname(BUILD_STAMP), { recursive: true });
  writeFileSync(BUILD_STAMP, sources);
}

async function ensureEngines(names) {
  const require = createRequire(import.meta.url);
  const { embeddingsSupported, ensureEngine, progressReporter } = require(join(ROOT, 'dist', 'src', 'engines'));
  const wanted = names.filter((name) => name !== 'embeddings' || embeddingsSupported().supported);
  const onProgress = progressReporter(process.stderr);
  let complete = true;
  for (const name of wanted) {
    try {
      await ensureEngine(name, { onProgress });
    } catch (error) {
      complete = false;
      warn(`${error.message}\n  ${error.hint ?? ''}`);
    }
  }
  return complete;
}

function lockHash() {
  return hashTree(ROOT, [], ['package-lock.json']);
}

function readStamp(path) {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}

/** Runs npm; what it printed, where it was captured, becomes part of the error. */
function npm(args, stdio) {
  const cli = process.env.npm_execpath?.endsWith('npm-cli.js') ? process.env.npm_execpath : undefined;
  const [command, ...prefix] = cli ? [process.execPath, cli] : ['npm'];
  return new Promise((resolve, reject) => {
    const child = spawn(command, [...prefix, ...args], { cwd: ROOT, stdio });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += chunk));
    child.once('error', (error) => reject(new Error(`npm does not run: ${error.message}`)));
    child.once('close', (code, signal) => {
      if (code === 0) resolve();
      else reject(new Error(`npm ${args.join(' ')} failed (${signal ?? code})\n${output.trimEnd()}`));
    });
  });
}

/** Whether the file of this URL is the program that was started, not an import of it. */
export function isMain(url) {
  return process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(url);
}

if (isMain(import.meta.url)) {
  try {
    process.exitCode = (await bootstrap()) ? 0 : 1;
  } catch (error) {
    process.stderr.write(`${paint.red('✗')} ${error.message}\n`);
    process.exitCode = 1;
  }
}

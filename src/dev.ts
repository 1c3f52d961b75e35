/**
 * Composition root of `agent-reach dev`: engines, gateway with worker, and on request the example agents, in one
 * process tree. Nothing outlives it.
 * Usage: node dev.js [--port N] [--data-dir DIR] [--with-examples] [--config FILE]
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { parse, stringify } from 'yaml';
import { SEARCH_ATTRIBUTES } from '../workflows/search-attributes';
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
  port: string;
  dataDir: string;
  examples: boolean;
  configFile: string | undefined;
}

function readArguments(): DevOptions {
  const { values } = parseArgs({
    strict: true,
    options: {
      port: { type: 'string', default: '8080' },
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
  mkdirSync(options.dataDir, { recursive: true, mode: 0o700 });
  lockDataDir(options.dataDir, atExit);
  await assertPortFree(Number(options.port));
  const engines = await startEngines(options.dataDir, atExit);
  const configFile = writeConfig(options, engines);
  const gateway = runNode(join(__dirname, 'gateway.js'), ['--config', configFile, '--port', options.port], atExit);
  const url = await readyUrl(gateway);
  if (options.examples) await startExamples(url, atExit);
  report(url, engines, configFile);
  gateway.once('exit', (code, signal) => {
    if (code === 0) return;
    process.stderr.write(`dev: the gateway was ended by ${signal ?? `exit code ${code}`}; stopping everything\n`);
    process.kill(process.pid, 'SIGTERM');
  });
}

async function startEngines(dataDir: string, atExit: AtExit): Promise<RunningEngine[]> {
  const onProgress = progressReporter();
  const started: RunningEngine[] = [];
  const keep = (engine: RunningEngine) => {
    started.push(engine);
    const guard = restartWhenLost(engine);
    atExit(() => {
      guard.abort();
      return engine.stop();
    });
  };
  keep(await startTemporal({ dataDir: join(dataDir, 'temporal'), searchAttributes: SEARCH_ATTRIBUTES, onProgress }));
  keep(await startEtcd({ dataDir: join(dataDir, 'etcd'), onProgress }));
  const { supported, reason } = embeddingsSupported();
  if (supported) keep(await startEmbeddings({ onProgress }));
  else
    process.stderr.write(
      `dev: routing by meaning is lexical: ${reason}; set embeddings.url to an OpenAI-compatible endpoint\n`,
    );
  return started;
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

/** Said before the engines are started, not a minute later. */
async function assertPortFree(port: number): Promise<void> {
  const probe = createServer();
  await new Promise<void>((done, fail) => {
    probe.once('error', () => fail(new Error(`port ${port} is in use; choose another one with --port`)));
    probe.listen(port, '127.0.0.1', () => probe.close(() => done()));
  });
}

/** The operator's file, if any, with the addresses of the embedded engines filled in; kept for `agent-reach worker --config`. */
function writeConfig({ dataDir, configFile }: DevOptions, engines: RunningEngine[]): string {
  const own = (configFile ? parse(readFileSync(configFile, 'utf8')) : {}) as Record<
    string,
    Record<string, unknown>
  > | null;
  const [temporal, etcd, embeddings] = engines;
  const merged = {
    ...own,
    temporal: {
      ...own?.temporal,
      address: temporal?.address,
      agents_address: temporal?.address,
      ui_url: temporal?.uiUrl,
    },
    registry: { ...own?.registry, etcd: [etcd?.address] },
    embeddings: {
      cache_file: join(dataDir, 'vectors.bin'),
      ...(embeddings && { url: embeddings.address }),
      ...own?.embeddings,
    },
    security: {
      ...own?.security,
      egress_allow: ['127.0.0.0/8', '::1/128', ...((own?.security?.egress_allow as string[] | undefined) ?? [])],
    },
    payloads: { ...own?.payloads, store: own?.payloads?.store ?? { directory: join(dataDir, 'payloads') } },
    logging: { level: 'warn', ...own?.logging },
  };
  const file = join(dataDir, 'agent-reach.yaml');
  writeFileSync(file, `# Written by agent-reach dev at each start.\n${stringify(merged)}`);
  return file;
}

function runNode(script: string, args: string[], atExit: AtExit): ChildProcess {
  const child = spawn(process.execPath, [script, ...args], {
    // Own process group: Ctrl-C reaches us only, and we stop them in order. Our death closes their standard input.
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
    env: { ...process.env, [STOP_WITH_PARENT]: '1' },
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

async function startExamples(url: string, atExit: AtExit): Promise<void> {
  const script = resolve(__dirname, '../examples/ticket-desk/agents.js');
  const agents = runNode(script, ['--gateway', url], atExit);
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

function report(url: string, [temporal]: RunningEngine[], configFile: string): void {
  const lines = [
    `API docs      ${url}/docs`,
    `Temporal UI   ${temporal?.uiUrl}`,
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

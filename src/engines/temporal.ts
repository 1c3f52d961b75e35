import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';

import { launch, type Launch } from './launch';
import { ensureEngine } from './locate';
import { freePorts, isListening, LOOPBACK } from './ports';
import { until } from './probe';
import { prepareNamespace, type SearchAttributeType } from './temporal-namespace';
import type { EnsureOptions, RunningEngine } from './types';

/** How to run the embedded Temporal development server. */
export interface TemporalOptions extends EnsureOptions {
  /** The database and the log are kept here; starting again on the same folder finds the same workflows. */
  dataDir: string;
  /** Port for clients. Default: a free one. */
  port?: number;
  /** Port of the Web UI. Default: a free one. */
  uiPort?: number;
  /** Custom search attributes of the `default` namespace. Those that an existing database lacks are added. */
  searchAttributes?: Record<string, SearchAttributeType>;
  /** How long closed workflows, and with them dead letters, are kept. Default: 7; the server's own would be 1. */
  retentionDays?: number;
  /** Default: `temporal.log` in the data folder. */
  logFile?: string;
}

/**
 * Starts the Temporal development server with its Web UI on loopback, on SQLite; `address` is `127.0.0.1:PORT`.
 * It is ready when the `default` namespace has the wanted retention and search attributes.
 *
 * @throws {EngineError} one of its kinds: not found, not installable, or did not start.
 */
export async function startTemporal(options: TemporalOptions): Promise<RunningEngine> {
  const { env = process.env, retentionDays = 7, searchAttributes = {} } = options;
  const program = await ensureEngine('temporal', options);
  await mkdir(options.dataDir, { recursive: true });
  const plan = async (): Promise<Launch> => {
    const [port, uiPort] = await choosePorts(options);
    const address = `${LOOPBACK}:${port}`;
    return {
      command: program.path,
      args: temporalArgs(options, port, uiPort),
      env,
      logFile: resolve(options.logFile ?? join(options.dataDir, 'temporal.log')),
      address,
      uiUrl: `http://${LOOPBACK}:${uiPort}`,
      ports: [port, uiPort],
      ready: async (signal) => {
        // First by a bare connection: a gRPC channel that was refused once waits a second before it tries again.
        await until(() => isListening(port), signal);
        await prepareNamespace({ address, retentionDays, searchAttributes, signal });
      },
    };
  };
  return launch('temporal', plan, options.port === undefined || options.uiPort === undefined);
}

async function choosePorts({ port, uiPort }: TemporalOptions): Promise<[port: number, uiPort: number]> {
  const [first = 0, second = 0] = await freePorts(2);
  return [port ?? first, uiPort ?? second];
}

function temporalArgs({ dataDir, searchAttributes = {} }: TemporalOptions, port: number, uiPort: number): string[] {
  const args = [
    'server',
    'start-dev',
    '--log-level',
    'error',
    '--ip',
    LOOPBACK,
    '--port',
    String(port),
    '--ui-port',
    String(uiPort),
  ];
  args.push('--db-filename', join(resolve(dataDir), 'temporal.db'));
  // Nearly doubles throughput. Safe when the process crashes, not when the machine loses power.
  args.push('--sqlite-pragma', 'journal_mode=wal', '--sqlite-pragma', 'synchronous=1');
  // Otherwise timers and retries fire about a second late.
  args.push('--dynamic-config-value', 'history.timerProcessorMaxTimeShift="50ms"');
  args.push('--dynamic-config-value', 'system.enableActivityEagerExecution=true');
  // Takes effect on a new database only; `prepareNamespace` adds what an older one lacks.
  for (const [key, type] of Object.entries(searchAttributes)) args.push('--search-attribute', `${key}=${type}`);
  return args;
}

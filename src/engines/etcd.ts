import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';

import { launch, type Launch } from './launch';
import { ensureEngine } from './locate';
import { freePorts, LOOPBACK } from './ports';
import { answersOk, until } from './probe';
import type { EnsureOptions, RunningEngine } from './types';

/** Old revisions are dropped after this long, or heartbeats alone would fill the quota. A watch that is behind by more starts anew. */
const KEEP_REVISIONS_FOR = '1h';

/** How to run the embedded etcd. */
export interface EtcdOptions extends EnsureOptions {
  /** Keys and the log are kept here; starting again on the same folder finds the same keys. */
  dataDir: string;
  /** Port for clients. Default: a free one. */
  port?: number;
  /** Size of the database at which etcd refuses writes. Default: etcd's own, 2 GiB. */
  quotaBackendBytes?: number;
  /** Default: `etcd.log` in the data folder. */
  logFile?: string;
}

/**
 * Starts a single etcd member on loopback; `address` is `127.0.0.1:PORT`.
 *
 * @throws {EngineError} one of its kinds: not found, not installable, or did not start.
 */
export async function startEtcd(options: EtcdOptions): Promise<RunningEngine> {
  const { env = process.env } = options;
  const program = await ensureEngine('etcd', options);
  await mkdir(options.dataDir, { recursive: true });
  const plan = async (): Promise<Launch> => {
    const [client, peer] = await choosePorts(options.port);
    const url = `http://${LOOPBACK}:${client}`;
    return {
      command: program.path,
      args: etcdArgs(options, url, `http://${LOOPBACK}:${peer}`),
      env: withoutEtcdSettings(env),
      logFile: resolve(options.logFile ?? join(options.dataDir, 'etcd.log')),
      address: `${LOOPBACK}:${client}`,
      ports: [client, peer],
      ready: (signal) => until(() => answersOk(`${url}/health`, (body) => body.includes('"true"')), signal),
    };
  };
  return launch('etcd', plan, true);
}

async function choosePorts(wanted: number | undefined): Promise<[client: number, peer: number]> {
  const [first = 0, second = 0] = await freePorts(2);
  return [wanted ?? first, second];
}

function etcdArgs({ dataDir, quotaBackendBytes }: EtcdOptions, clientUrl: string, peerUrl: string): string[] {
  const args = [
    '--name',
    'agent-reach',
    '--data-dir',
    join(resolve(dataDir), 'etcd'),
    '--log-level',
    'warn',
    '--logger',
    'zap',
  ];
  args.push('--listen-client-urls', clientUrl, '--advertise-client-urls', clientUrl);
  // A single member has no peers, yet etcd insists on listening for them.
  args.push(
    '--listen-peer-urls',
    peerUrl,
    '--initial-advertise-peer-urls',
    peerUrl,
    '--initial-cluster',
    `agent-reach=${peerUrl}`,
  );
  args.push('--auto-compaction-mode', 'periodic', '--auto-compaction-retention', KEEP_REVISIONS_FOR);
  if (quotaBackendBytes !== undefined) args.push('--quota-backend-bytes', String(quotaBackendBytes));
  return args;
}

/** etcd reads every flag from `ETCD_…` as well, and refuses to start when a variable and a flag are both given. */
function withoutEtcdSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([key]) => !key.startsWith('ETCD_')));
}

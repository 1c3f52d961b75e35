import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { stringify } from 'yaml';
import { startEtcd, startTemporal, type RunningEngine } from '../../../src/engines';
import { freePorts } from '../../../src/engines/ports';
import { SEARCH_ATTRIBUTES } from '../../../workflows/search-attributes';
import { Agents } from './agents';
import { Closers } from './closers';
import { RootProcess } from './root-process';
import { TcpProxy } from './tcp-proxy';

/** What a scenario needs around it. */
export interface StageOptions {
  gateways?: number;
  workers?: number;
  /** Sections of the configuration beyond the harness's own. */
  config?: Record<string, object>;
  etcdQuotaBytes?: number;
  /** Put a proxy between the first gateway and etcd, everybody and Temporal, or the workers and the agents. */
  proxied?: { gatewayEtcd?: boolean; temporal?: boolean; agents?: boolean };
  workerNodeArgs?: string[];
  /** Programs that gateways or workers load before their own, by path: planted bugs. */
  preloads?: { gateway?: readonly string[]; worker?: readonly string[] };
  /** Environment of gateways and workers. */
  env?: { gateway?: Record<string, string>; worker?: Record<string, string> };
}

/** An engine that can be killed, paused and started again on its data and ports. */
export type Engine = RunningEngine & { restart(): Promise<void> };

/** A platform of its own: engines, gateways, workers and agents, each a process. */
export interface Stage {
  temporal: Engine;
  etcd: Engine;
  gateways: RootProcess[];
  /** Of the gateways, in order. */
  urls: string[];
  workers: RootProcess[];
  agents: Agents;
  proxies: { gatewayEtcd: TcpProxy | null; temporal: TcpProxy | null; agents: TcpProxy | null };
  client: Client;
  /** What was begun here, in order: a row that is run once more needs names of its own. */
  acts: { row: number; seed: number }[];
  /** Starts one more worker like the others. */
  addWorker(): Promise<RootProcess>;
  close(): Promise<void>;
}

/** Starts everything; whatever fails, nothing is left running. */
export async function openStage(options: StageOptions): Promise<Stage> {
  const closers = new Closers();
  try {
    return await build(options, closers);
  } catch (error) {
    await closers.close();
    throw error;
  }
}

async function build(options: StageOptions, closers: Closers): Promise<Stage> {
  const dataDir = await mkdtemp(join(tmpdir(), 'agent-reach-chaos-'));
  closers.add(() => rm(dataDir, { recursive: true, force: true }));
  const { temporal, etcd } = await startEngines(dataDir, options, closers);
  const agents = await Agents.start(dataDir);
  closers.add(() => agents.kill());
  const proxies = await openProxies(options, { temporal, etcd, agents }, closers);

  const addresses = { temporal: proxies.temporal?.address ?? temporal.address, etcd: etcd.address };
  const workerConfig = await writeConfig(dataDir, 'worker', { ...addresses, more: options.config });
  const firstGatewayConfig = await writeConfig(dataDir, 'gateway', {
    ...addresses,
    etcd: proxies.gatewayEtcd?.address ?? etcd.address,
    more: options.config,
  });
  const { workerNodeArgs = [], preloads = {}, env = {} } = options;
  const start = async (root: 'gateway' | 'worker', args: string[]) => {
    const preloaded = (preloads[root] ?? []).flatMap((file) => ['--require', file]);
    const nodeArgs = [...(root === 'worker' ? workerNodeArgs : []), ...preloaded];
    const started = await RootProcess.start({ root, args, nodeArgs, env: env[root] ?? {} });
    closers.add(() => started.stop());
    return started;
  };
  const ports = await freePorts(options.gateways ?? 1);
  const workers: RootProcess[] = [];
  const addWorker = async () => {
    const worker = await start('worker', ['--config', workerConfig]);
    workers.push(worker);
    return worker;
  };
  const [gateways] = await allOrNothing([
    allOrNothing(
      ports.map((port, index) => {
        const config = index === 0 ? firstGatewayConfig : workerConfig;
        return start('gateway', ['--config', config, '--no-worker', '--port', String(port)]);
      }),
    ),
    allOrNothing(Array.from({ length: options.workers ?? 2 }, addWorker)),
  ]);

  // The observer's own connection goes around the proxies: it must see what happened during a cut.
  const connection = Connection.lazy({ address: temporal.address });
  closers.add(() => connection.close());
  return {
    temporal,
    etcd,
    gateways,
    urls: ports.map((port) => `http://127.0.0.1:${port}`),
    workers,
    agents,
    proxies,
    client: new Client({ connection }),
    acts: [],
    addWorker,
    close: () => closers.close(),
  };
}

/** Like `Promise.all`, but a failure is told only once all have ended: what is still starting could not be stopped. */
async function allOrNothing<T extends readonly unknown[] | []>(
  started: T,
): Promise<{ -readonly [P in keyof T]: Awaited<T[P]> }> {
  await Promise.allSettled(started);
  return Promise.all(started);
}

async function startEngines(dataDir: string, { etcdQuotaBytes }: StageOptions, closers: Closers) {
  const keep = (engine: RunningEngine): Engine => {
    closers.add(() => engine.stop());
    return engine as Engine;
  };
  const [temporal, etcd] = await allOrNothing([
    startTemporal({ dataDir: join(dataDir, 'temporal'), searchAttributes: SEARCH_ATTRIBUTES }).then(keep),
    startEtcd({
      dataDir: join(dataDir, 'etcd'),
      ...(etcdQuotaBytes !== undefined && { quotaBackendBytes: etcdQuotaBytes }),
    }).then(keep),
  ]);
  return { temporal, etcd };
}

async function openProxies(
  { proxied = {} }: StageOptions,
  { temporal, etcd, agents }: { temporal: Engine; etcd: Engine; agents: Agents },
  closers: Closers,
): Promise<Stage['proxies']> {
  const open = async (wanted: boolean | undefined, target: string) => {
    if (!wanted) return null;
    const proxy = await TcpProxy.open(target);
    closers.add(() => proxy.close());
    return proxy;
  };
  return {
    gatewayEtcd: await open(proxied.gatewayEtcd, etcd.address),
    temporal: await open(proxied.temporal, temporal.address),
    agents: await open(proxied.agents, agents.host),
  };
}

async function writeConfig(
  dataDir: string,
  name: string,
  { temporal, etcd, more = {} }: { temporal: string; etcd: string; more: Record<string, object> | undefined },
): Promise<string> {
  const own: Record<string, object> = {
    server: { graceful_timeout: '8s' },
    temporal: { address: temporal },
    registry: { etcd: [etcd], refresh_interval: '2s' },
    security: { egress_allow: ['127.0.0.0/8'] },
    logging: { level: 'error' },
  };
  const merged = Object.fromEntries(
    [...new Set([...Object.keys(own), ...Object.keys(more)])].map((key) => [key, { ...own[key], ...more[key] }]),
  );
  const file = join(dataDir, `${name}.yaml`);
  await writeFile(file, stringify(merged));
  return file;
}

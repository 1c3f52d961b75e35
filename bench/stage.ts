import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { stringify } from 'yaml';
import { embeddingsSupported, startEmbeddings, startEtcd, startTemporal, type RunningEngine } from '../src/engines';
import { SEARCH_ATTRIBUTES } from '../workflows/search-attributes';
import { descriptors } from './agents';
import { startChild, type Child } from './children';
import { Callers } from './contenders';

/** All that runs while the benchmark does. */
export interface Stage {
  callers: Callers;
  client: Client;
  /** Process ids by what they do; the driver is this process. */
  pids: { gateway: number; plain: number; server: number };
  /** The model, or why routing by meaning is lexical here. */
  embeddings: string;
  close(): Promise<void>;
}

/** What has been started so far, to be stopped in the opposite order. */
type Closers = (() => Promise<unknown>)[];

/**
 * Starts engines of our own, the echo agent, the plain worker and the gateway with its worker, each a process, and
 * registers the agents. Whatever fails, nothing is left running.
 */
export async function openStage(options: { gatewayNodeArgs: string[] }): Promise<Stage> {
  const closers: Closers = [];
  try {
    return await build(closers, options);
  } catch (error) {
    await closeAll(closers);
    throw error;
  }
}

async function build(closers: Closers, { gatewayNodeArgs }: { gatewayNodeArgs: string[] }): Promise<Stage> {
  const dataDir = await mkdtemp(join(tmpdir(), 'agent-reach-bench-'));
  closers.push(() => rm(dataDir, { recursive: true, force: true }));
  const { temporal, etcd, embeddings } = await startEngines(dataDir, closers);
  const configFile = join(dataDir, 'agent-reach.yaml');
  await writeFile(configFile, gatewayConfig({ temporal, etcd, embeddings }));

  const child = async (name: string, script: string, args: string[], nodeArgs?: string[]): Promise<Child> => {
    const started = await startChild(name, script, args, nodeArgs);
    closers.push(() => started.stop());
    return started;
  };
  const echo = await child('the echo agent', resolve(__dirname, 'echo-agent/main.js'), []);
  const plain = await child('the plain worker', resolve(__dirname, 'plain/main.js'), [temporal.address]);
  const gatewayScript = resolve(__dirname, '../src/gateway.js');
  const gateway = await child('the gateway', gatewayScript, ['--config', configFile, '--port', '0'], gatewayNodeArgs);

  const connection = await Connection.connect({ address: temporal.address });
  closers.push(() => connection.close());
  const client = new Client({ connection });
  const callers = new Callers({ client, gatewayUrl: gateway.address, echoUrl: echo.address });
  closers.push(() => callers.close());
  for (const descriptor of descriptors(echo.address)) await callers.post('/v1/agents', descriptor);
  return {
    callers,
    client,
    pids: { gateway: gateway.pid, plain: plain.pid, server: temporal.pid },
    embeddings: embeddings ? 'multilingual-e5-small' : `lexical: ${embeddingsSupported().reason}`,
    close: () => closeAll(closers),
  };
}

interface Engines {
  temporal: RunningEngine;
  etcd: RunningEngine;
  embeddings: RunningEngine | null;
}

async function startEngines(dataDir: string, closers: Closers): Promise<Engines> {
  const keep = <T extends RunningEngine>(engine: T): T => {
    closers.push(() => engine.stop());
    return engine;
  };
  const temporal = keep(
    await startTemporal({ dataDir: join(dataDir, 'temporal'), searchAttributes: SEARCH_ATTRIBUTES }),
  );
  const etcd = keep(await startEtcd({ dataDir: join(dataDir, 'etcd') }));
  const embeddings = embeddingsSupported().supported ? keep(await startEmbeddings()) : null;
  return { temporal, etcd, embeddings };
}

function gatewayConfig({ temporal, etcd, embeddings }: Engines): string {
  return stringify({
    temporal: { address: temporal.address },
    registry: { etcd: [etcd.address] },
    ...(embeddings && { embeddings: { url: embeddings.address } }),
    security: { egress_allow: ['127.0.0.0/8'] },
    logging: { level: 'warn' },
  });
}

async function closeAll(closers: Closers): Promise<void> {
  for (const close of closers.splice(0).reverse()) await close().catch(() => {});
}

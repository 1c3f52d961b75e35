/** What `agent-reach dev` makes of the operator's file: the same settings, on the engines that it starts. */
import { createServer } from 'node:net';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { loadConfig, readConfigFile, readSettings, withoutEngines, type Config } from './config';

/** Settings as written, by section. */
export type Settings = Record<string, Record<string, unknown>>;

/** The engines that dev has started; an embedding engine only where the machine can run one. */
export interface DevEngines {
  temporal: { address: string; uiUrl?: string };
  etcd: { address: string };
  embeddings?: { address: string };
}

/** Stands for engines that are not started yet. */
const NO_ENGINES: DevEngines = { temporal: { address: '127.0.0.1:0' }, etcd: { address: '127.0.0.1:0' } };

/** The operator's settings; none without a file. @throws ReachError `invalid_request` for a file that cannot be read */
export function readOwnSettings(file: string | undefined): Settings {
  return file === undefined ? {} : readSettings({ text: readConfigFile(file), fileName: file });
}

/**
 * The operator's settings with the embedded engines filled in. Nothing of how other engines are reached stays: neither their
 * namespace nor their key. An embedding endpoint of the operator's stays, since it may have another model.
 */
export function devSettings(own: Settings, engines: DevEngines, dataDir: string): Settings {
  const { temporal, etcd, embeddings } = engines;
  return {
    ...own,
    temporal: {
      ...own.temporal,
      address: temporal.address,
      namespace: 'default',
      agents_address: temporal.address,
      ui_url: temporal.uiUrl,
      tls: undefined,
      api_key_env: undefined,
    },
    registry: { ...own.registry, etcd: [etcd.address] },
    embeddings: {
      cache_file: join(dataDir, 'vectors.bin'),
      ...(embeddings && { url: embeddings.address }),
      ...own.embeddings,
    },
    security: {
      ...own.security,
      egress_allow: ['127.0.0.0/8', '::1/128', ...((own.security?.egress_allow as string[] | undefined) ?? [])],
    },
    payloads: { ...own.payloads, store: own.payloads?.store ?? { directory: join(dataDir, 'payloads') } },
    logging: { level: 'warn', ...own.logging },
  };
}

/**
 * Where the gateway will listen: what the flag says, else the environment, else the operator's file. Looked at before any
 * engine is started, and with it all other settings. @throws ReachError `invalid_request`
 */
export function listeningPlace(
  own: Settings,
  { port, env, fileName }: { port?: number; env: Record<string, string | undefined>; fileName?: string },
): Pick<Config['server'], 'host' | 'port'> {
  const text = stringify(devSettings(own, NO_ENGINES, '.'));
  const overrides: Settings = port === undefined ? {} : { server: { port } };
  return loadConfig({ text, fileName, env: withoutEngines(env, { embeddings: false }), overrides }).server;
}

/** @throws Error that says what is wrong with the port, before engines are started and not a minute later */
export async function assertPortFree({ host, port }: { host: string; port: number }): Promise<void> {
  const probe = createServer();
  await new Promise<void>((done, fail) => {
    probe.once('error', (cause: NodeJS.ErrnoException) => fail(new Error(whyNot(cause, host, port), { cause })));
    probe.listen(port, host, () => probe.close(() => done()));
  });
}

function whyNot({ code, message }: NodeJS.ErrnoException, host: string, port: number): string {
  if (code === 'EADDRINUSE') return `port ${port} is in use; choose another one with --port`;
  if (code === 'EACCES') return `this user may not listen on port ${port}; choose one from 1024 on with --port`;
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return `${host} is no address of this machine; set server.host to one that is, such as 127.0.0.1`;
  return `cannot listen on ${host}, port ${port}: ${message}`;
}

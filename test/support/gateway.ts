import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '../../src/telemetry/logger';
import { loadConfig } from '../../src/config';
import { serve } from '../../src/serve';
import { Api } from './api';
import { temporalAddress } from './temporal';

/** What a test's gateway is to be like. Everything else is as small and quick as it can be. */
export interface TestGatewayOptions {
  /** Gateways with the same platform share registry and task queue. Default: one of its own. */
  platform?: string;
  temporal?: string;
  etcd?: string;
  apiKey?: string;
  withWorker?: boolean;
  /** Settings by section, over the ones made here. */
  config?: Record<string, Record<string, unknown>>;
}

/** A gateway of a test, and how to talk to it. */
export interface TestGateway {
  url: string;
  /** Sends the API key where there is one. */
  api: Api;
  /** Names registry prefix and task queue; hand it to another gateway to have two of one platform. */
  platform: string;
  /** Stops it in order. Safe to call again. */
  close(): Promise<void>;
}

/** The etcd that all suites share. */
function etcdAddress(): string {
  const address = process.env.TEST_ETCD_ADDRESS;
  if (!address)
    throw new Error('TEST_ETCD_ADDRESS is not set: run the tests with jest, whose global setup starts etcd');
  return address;
}

/** The settings of a test's gateway by section, as `agent-reach.yaml` would have them. */
export function gatewaySettings({
  platform,
  temporal,
  etcd,
  config = {},
}: TestGatewayOptions & { platform: string }): Record<string, Record<string, unknown>> {
  const address = temporal ?? temporalAddress();
  const settings: Record<string, Record<string, unknown>> = {
    server: { port: 0, graceful_timeout: '5s' },
    temporal: {
      address,
      agents_address: address,
      task_queue: platform,
      ui_url: process.env.TEST_TEMPORAL_UI || undefined,
    },
    registry: { etcd: [etcd ?? etcdAddress()], key_prefix: `/${platform}` },
    // Gateways of one platform share it; it exists once something large was sent.
    payloads: { store: { directory: join(tmpdir(), 'agent-reach-payloads', platform) } },
    security: { egress_allow: ['127.0.0.0/8'] },
    logging: { level: process.env.TEST_LOG_LEVEL ?? 'silent' },
    // Of equals the first by name is asked first, and nobody is tried for another.
    router: { exploration: { rate: 0 } },
  };
  for (const [section, values] of Object.entries(config)) settings[section] = { ...settings[section], ...values };
  return settings;
}

/** Starts a gateway, with a worker inside, in this process. */
export async function startGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const platform = options.platform ?? `test-${randomUUID()}`;
  const config = loadConfig({ overrides: gatewaySettings({ ...options, platform }) });
  const logger = createLogger('gateway', config.logging.level);
  const running = await serve(config, { logger, apiKey: options.apiKey ?? null, withWorker: options.withWorker });
  const api = new Api(running.url, options.apiKey ? { authorization: `Bearer ${options.apiKey}` } : {});
  let closing: Promise<void> | undefined;
  const close = async () => {
    await api.close();
    await running.close();
  };
  return { url: running.url, api, platform, close: () => (closing ??= close()) };
}

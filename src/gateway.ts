/**
 * Composition root: the gateway, with a worker inside unless `--no-worker`.
 * Usage: node gateway.js [--config FILE] [--port N] [--no-worker]
 */
import { createServer } from 'node:http';
import { Client } from '@temporalio/client';
import { v7 as uuidv7 } from 'uuid';
import type { Logger } from 'pino';
import { AgentCatalogue } from './gateway/agent-catalogue';
import { AgentRegistrar } from './gateway/agent-registrar';
import { createApp } from './gateway/app';
import { LateResults } from './gateway/late-results';
import { ReachLister } from './gateway/reach-list';
import { ReachReader } from './gateway/reach-reader';
import { ReachService } from './gateway/reach-service';
import { Readiness } from './gateway/readiness';
import { TraceReader } from './gateway/trace-reader';
import { createPlatform, createWorker, type Platform } from './platform';
import { DEFAULT_TENANT } from './protocol/limits';
import { buildOpenApi } from './protocol/openapi';
import { readRootArguments, runRoot } from './root';
import { HttpMetrics } from './telemetry/http-metrics';
import { createLogger } from './telemetry/logger';
import { createMetricsRegistry } from './telemetry/metrics';
import { VERSION } from './protocol/version';

/** Starts the gateway; resolves with what stops it again. */
async function start(): Promise<() => Promise<void>> {
  const { config, flags } = readRootArguments({ port: 'server.port', 'no-worker': 'flag' });
  const apiKey = config.security.api_key_env === undefined ? null : (process.env[config.security.api_key_env] ?? '');
  assertGuarded(config.server.host, apiKey);
  const logger = createLogger('gateway', config.logging.level);
  const metrics = createMetricsRegistry();
  const platform = await createPlatform(config, logger, metrics);
  const worker = flags.has('no-worker') ? null : await createWorker(platform);
  const working = worker?.run();

  const readiness = readinessOf(platform);
  const app = createApp({ ...services(platform, readiness), logger, apiKey, metrics, httpMetrics: new HttpMetrics(metrics), readiness, openApi: buildOpenApi({ version: VERSION }) });
  const server = createServer(app);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(config.server.port, config.server.host, resolve);
  });
  announce(logger, server.address(), config.server.host);

  return async () => {
    readiness.drain();
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeIdleConnections();
    const patience = setTimeout(() => server.closeAllConnections(), config.server.graceful_timeout);
    await closed;
    clearTimeout(patience);
    worker?.shutdown();
    await working;
    await platform.close();
  };
}

function services(platform: Platform, readiness: Readiness) {
  const { config, connection, view, router, tokens, registry, egress } = platform;
  const { namespace, task_queue: taskQueue } = config.temporal;
  const client = new Client({ connection, namespace });
  const world = () => view.world();
  const reader = new ReachReader({ client, namespace, temporalUiUrl: config.temporal.ui_url ?? null });
  const agentsAddress = config.temporal.agents_address;
  return {
    reader,
    service: new ReachService({ client, reader, router, world, tenant: DEFAULT_TENANT, taskQueue, protocolTimeoutMs: config.adapter.protocol_timeout_ms, newMessageId: uuidv7 }),
    lister: new ReachLister({ client, namespace }),
    lateResults: new LateResults({ client, reader, tokens, world }),
    traces: new TraceReader({ client, reader }),
    registrar: new AgentRegistrar({
      registry,
      view,
      egress,
      tokenEnvAllow: config.security.token_env_allow,
      workerEngine: agentsAddress ? { address: agentsAddress, namespace } : null,
    }),
    catalogue: new AgentCatalogue(world),
    router,
    readiness,
  };
}

function readinessOf({ connection, config, view }: Platform): Readiness {
  const { namespace } = config.temporal;
  return new Readiness({ client: new Client({ connection, namespace }), namespace, view });
}

/** Without an API key only this machine may call. */
function assertGuarded(host: string, apiKey: string | null): void {
  if (apiKey === '') throw new Error('security.api_key_env names a variable that is not set; set it or remove the setting');
  if (apiKey === null && !['127.0.0.1', '::1', 'localhost'].includes(host)) {
    throw new Error(`Listening on ${host} needs an API key: set security.api_key_env, or listen on 127.0.0.1`);
  }
}

function announce(logger: Logger, address: ReturnType<ReturnType<typeof createServer>['address']>, host: string): void {
  const port = address !== null && typeof address === 'object' ? address.port : 0;
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  logger.info({ url }, 'gateway ready');
  process.stdout.write(`ready ${url}\n`);
}

runRoot('gateway', start);

/**
 * Composition root: the gateway, with a worker inside unless `--no-worker`.
 * Usage: node gateway.js [--config FILE] [--port N] [--no-worker]
 */
import type { Config } from './config';
import { readRootArguments, runRoot, type AtExit } from './root';
import { serve } from './serve';
import { createLogger } from './telemetry/logger';

/** Starts the gateway and announces it. */
async function start(atExit: AtExit): Promise<void> {
  const { config, flags } = readRootArguments({ port: 'server.port', 'no-worker': 'flag' });
  const logger = createLogger('gateway', config.logging.level);
  const gateway = await serve(config, { logger, apiKey: apiKeyOf(config), withWorker: !flags.has('no-worker') });
  atExit(() => gateway.close());
  logger.info({ url: gateway.url }, 'gateway ready');
  process.stdout.write(`ready ${gateway.url}\n`);
}

/** The key that callers must send; null when none is configured, which only loopback may be served without. */
function apiKeyOf({ security, server }: Config): string | null {
  if (security.api_key_env === undefined) {
    if (['127.0.0.1', '::1', 'localhost'].includes(server.host)) return null;
    throw new Error(`Listening on ${server.host} needs an API key: set security.api_key_env, or listen on 127.0.0.1`);
  }
  const key = process.env[security.api_key_env];
  if (key) return key;
  throw new Error(`security.api_key_env names ${security.api_key_env}, which is not set; set it or remove the setting`);
}

runRoot('gateway', start);

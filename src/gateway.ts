/**
 * Composition root: the gateway, with a worker inside unless `--no-worker`.
 * Usage: node gateway.js [--config FILE] [--port N] [--no-worker]
 */
import { isLoopback, secretOf, type Config } from './config';
import { ReachError } from './protocol/reach-error';
import { readRootArguments, runRoot, type AtExit, type GiveUp } from './root';
import { serve } from './serve';
import { createLogger } from './telemetry/logger';

/** Starts the gateway and announces it. */
async function start(atExit: AtExit, giveUp: GiveUp): Promise<void> {
  const { config, flags } = readRootArguments({ port: 'server.port', 'no-worker': 'flag' });
  const logger = createLogger('gateway', config.logging.level);
  const options = { logger, apiKey: apiKeyOf(config), withWorker: !flags.has('no-worker'), onWorkerBroken: giveUp };
  const gateway = await serve(config, options);
  atExit(() => gateway.close());
  logger.info({ url: gateway.url }, 'gateway ready');
  process.stdout.write(`ready ${gateway.url}\n`);
}

/** The key that callers must send; null when none is configured, which only loopback may be served without. */
function apiKeyOf(config: Config): string | null {
  const { host } = config.server;
  const key = secretOf('security.api_key_env', config);
  if (key !== undefined) return key;
  if (isLoopback(host)) return null;
  const message = `needs an API key to listen on ${host}`;
  const fix = 'set security.api_key_env, or listen on 127.0.0.1';
  throw new ReachError('invalid_request', `The gateway ${message}: ${fix}`, {
    errors: [{ pointer: '/server/host', message, fix }],
  });
}

runRoot('gateway', start);

/**
 * Composition root: a worker alone, for scaling out beside gateways that run with --no-worker.
 * Usage: node worker.js [--config FILE]
 */
import { createAlerts } from './alerts';
import { alertingOnRefusals } from './gateway/no-candidate-alert';
import { createPlatform } from './platform';
import { createWorker } from './reach-worker';
import { readRootArguments, runRoot, type AtExit, type GiveUp } from './root';
import { createLogger } from './telemetry/logger';
import { createMetricsRegistry } from './telemetry/metrics';
import { createRoutingLog } from './telemetry/routing-log';
import { endWorker, runWatched } from './workers';

async function start(atExit: AtExit, giveUp: GiveUp): Promise<void> {
  const { config } = readRootArguments({});
  const logger = createLogger('worker', config.logging.level);
  const metrics = createMetricsRegistry();
  const platform = await createPlatform(config, logger, metrics);
  atExit(() => platform.close());
  const { alerts, stop } = createAlerts(platform, metrics);
  atExit(stop);
  const worker = await createWorker(platform, alertingOnRefusals(createRoutingLog(logger, metrics), alerts));
  const working = runWatched(worker, (err) => {
    logger.fatal({ err }, 'the worker broke down; stopping');
    giveUp(err);
  });
  atExit(() => endWorker(worker, working));
  logger.info({ task_queue: config.temporal.task_queue }, 'worker ready');
  process.stdout.write('ready worker\n');
}

runRoot('worker', start);

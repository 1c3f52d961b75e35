/** What a gateway does for the store of large payloads besides using it: clean it, and say what looks wrong with it. */
import { Client } from '@temporalio/client';
import type { Registry as MetricsRegistry } from 'prom-client';
import type { Config } from './config';
import { NamespaceRetention } from './gateway/dead-letters/retention';
import { PayloadKeeper } from './gateway/payload-keeper';
import type { Platform } from './platform';
import { systemClock } from './registry/clock';
import { createPayloadMetrics } from './telemetry/payload-metrics';

/** Begins to clean the store, and warns once of settings that lose payloads. */
export function keepPayloads(platform: Platform, metrics: MetricsRegistry): PayloadKeeper {
  const { config, logger, payloads } = platform;
  const keeper = new PayloadKeeper({
    platform: payloads,
    intervalMs: config.payloads.sweep_interval,
    metrics: createPayloadMetrics(metrics),
    logger,
  });
  keeper.start();
  if (mayBeSeveralMachines(config))
    logger.warn(
      { store: payloads.objects.name },
      'large payloads are in files of this machine: every gateway and worker must see the same directory, or payloads.store.type must be s3',
    );
  void warnOfRetention(platform);
  return keeper;
}

/** Engines elsewhere suggest that this is not the only machine. A directory given by hand may well be shared. */
function mayBeSeveralMachines({ payloads, temporal, registry }: Config): boolean {
  const local = [temporal.address, ...registry.etcd].every((address) =>
    /^(https?:\/\/)?(127\.|localhost|\[::1\])/.test(address),
  );
  return payloads.store.type === 'files' && !local && !payloads.store.directory.startsWith('/');
}

/** A dead letter that outlives its payload can be looked at, but not redriven. */
async function warnOfRetention({ config, connection, logger }: Platform): Promise<void> {
  const { namespace } = config.temporal;
  const client = new Client({ connection, namespace });
  const namespaceMs = await new NamespaceRetention({ client, namespace, clock: systemClock }).ms().catch(() => 0);
  const { retention } = config.payloads;
  if (namespaceMs < retention) return;
  const facts = { namespace_retention_ms: namespaceMs, payloads_retention_ms: retention };
  logger.warn(
    facts,
    'payloads.retention is not longer than the retention of the namespace: large payloads will be gone before their dead letters are',
  );
}

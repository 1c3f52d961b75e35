/** What a gateway does for the store of large payloads besides using it: clean it, and say what looks wrong with it. */
import { Client } from '@temporalio/client';
import type { Registry as MetricsRegistry } from 'prom-client';
import type { Etcd3 } from 'etcd3';
import type { Config } from './config';
import { ClaimSweep, type Swept } from './context';
import { NamespaceRetention } from './gateway/dead-letters/retention';
import { PayloadKeeper } from './gateway/payload-keeper';
import { BlobStore, type PayloadPlatform } from './payloads';
import type { Platform } from './platform';
import { DEFAULT_TENANT } from './protocol/limits';
import { systemClock } from './registry/clock';
import { Keyspace } from './registry/keys';
import { createPayloadMetrics } from './telemetry/payload-metrics';

/** Where large values of contexts are kept, and who removes those that no field refers to any more. */
export function contextClaims({ config, payloads, etcd }: Pick<Platform, 'config' | 'payloads'> & { etcd: Etcd3 }): {
  blobs: BlobStore;
  sweep: ClaimSweep;
} {
  const { objects } = payloads;
  const area = `${DEFAULT_TENANT}/contexts`;
  const keyspace = new Keyspace(config.registry.key_prefix, DEFAULT_TENANT);
  const nowMs = () => systemClock.wall().getTime();
  return {
    // What a field refers to is never over its time: the sweep alone says what is.
    blobs: new BlobStore({ objects, area, retentionMs: Infinity }),
    sweep: new ClaimSweep({ etcd, keyspace, objects, area, graceMs: config.context.claim_grace, nowMs }),
  };
}

/** Begins to clean the store, and warns once of settings that lose payloads. */
export function keepPayloads(platform: Platform, metrics: MetricsRegistry, contexts: ClaimSweep): PayloadKeeper {
  const { config, logger, payloads } = platform;
  const keeper = new PayloadKeeper({
    platform: { sweep: (signal) => sweepBoth(payloads, contexts, signal) },
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

/** That one of them cannot be looked through does not keep the other from it. */
async function sweepBoth(payloads: PayloadPlatform, contexts: ClaimSweep, signal?: AbortSignal): Promise<Swept> {
  const [one, other] = await Promise.allSettled([payloads.sweep(signal), contexts.run(signal)]);
  for (const outcome of [one, other]) if (outcome.status === 'rejected') throw outcome.reason as Error;
  const [a, b] = [one, other].map((outcome) => (outcome as PromiseFulfilledResult<Swept>).value) as [Swept, Swept];
  return { blobs: a.blobs + b.blobs, bytes: a.bytes + b.bytes, removed: a.removed + b.removed };
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

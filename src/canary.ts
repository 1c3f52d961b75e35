/**
 * What serves versions side by side (R21), built from one Config: the route table, and the watch over versions that no route
 * lists.
 */
import type { AlertSink } from './gateway/alerts';
import { watchUnlisted } from './gateway/alerts/unlisted-watch';
import { CanaryWatch } from './gateway/canary-watch';
import { RoutingTable } from './gateway/routing-table';
import type { Platform } from './platform';
import { DEFAULT_TENANT } from './protocol/limits';
import { parseRoutes } from './protocol/route-table-schema';
import { createEtcd, RouteTableStore, systemClock, TrialStore } from './registry';
import { LeaderKey } from './registry/etcd/leader-key';
import { LeaseKeeper } from './registry/etcd/lease-keeper';
import { Keyspace } from './registry/keys';

/** The parts of a gateway that look after versions. */
export interface Canary {
  routingTable: RoutingTable;
  /** Seeds the table from the Config and begins to watch. @throws ReachError `engine_unavailable` */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** @param alerts where it tells of versions that no route lists, and of canaries that were rolled back */
export function createCanary(platform: Platform, alerts: AlertSink): Canary {
  const { config, view, routes, logger } = platform;
  const etcd = createEtcd({ hosts: config.registry.etcd });
  const base = { etcd, keyPrefix: config.registry.key_prefix, tenant: DEFAULT_TENANT };
  const store = new RouteTableStore(base);
  const routingTable = new RoutingTable({ store, view: routes, world: () => view.world() });
  let stopWatching: () => void = () => undefined;
  const rollback = config.canary.auto_rollback.enabled ? rollbackOf(platform, { base, store, alerts }) : null;
  return {
    routingTable,
    async start() {
      const seeded = await routingTable.seed(parseRoutes({ routes: config.routes }));
      if (seeded) logger.info({ routes: config.routes.length }, 'the route table was written from the configuration');
      stopWatching = watchUnlisted(view, alerts);
      rollback?.start();
    },
    async stop() {
      stopWatching();
      await rollback?.stop();
      etcd.close();
    },
  };
}

/** Another process compares this long after the one that did has died, s. */
const LEADER_TTL_SEC = 15;

/** Compares canaries in one process of all, again and again. */
function rollbackOf(
  { config, view, stats, logger }: Platform,
  {
    base,
    store,
    alerts,
  }: { base: ConstructorParameters<typeof TrialStore>[0]; store: RouteTableStore; alerts: AlertSink },
): { start(): void; stop(): Promise<void> } {
  const { etcd, keyPrefix = '', tenant } = base;
  const keeper = new LeaseKeeper(etcd);
  const key = new Keyspace(keyPrefix, tenant).leader('canary');
  const monotonicMs = () => systemClock.monotonicMs();
  const leader = new LeaderKey({ etcd, keeper, key, ttlSec: LEADER_TTL_SEC, monotonicMs, logger });
  const { alpha, min_requests, min_error_increase, min_latency_ratio, interval } = config.canary.auto_rollback;
  const watch = new CanaryWatch({
    world: () => view.world(),
    counted: (agentName, agentVersion, ability) => stats.counted(agentName, agentVersion, ability),
    trials: new TrialStore(base),
    table: store,
    alerts,
    leader,
    intervalMs: interval,
    monotonicMs,
    settings: {
      alpha,
      minRequests: min_requests,
      minErrorIncrease: min_error_increase,
      minLatencyRatio: min_latency_ratio,
    },
    logger,
  });
  return {
    start: () => watch.start(),
    async stop() {
      await watch.stop();
      leader.resign();
      keeper.close();
    },
  };
}

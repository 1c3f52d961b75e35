/**
 * Alerts, built from one Config: raised by gateways and by workers alike, each once whatever number of processes notices it.
 */
import type { Registry as MetricsRegistry } from 'prom-client';
import { Alerts, callbackChannel, logChannel, topicChannel } from './gateway/alerts';
import { assertCallbackAllowed } from './gateway/callbacks/rules';
import type { Platform } from './platform';
import { DEFAULT_TENANT } from './protocol/limits';
import { AlertClaims, createEtcd, systemClock } from './registry';
import { alertCounter } from './telemetry/alert-metrics';

/** Where a process raises its alerts. */
export interface PlatformAlerts {
  alerts: Alerts;
  /** Gives those under way a moment, and closes the connection. */
  stop(): Promise<void>;
}

/** @throws ReachError `callback_url_forbidden` for an address of `alerts.callback_url` that may not be called */
export function createAlerts(platform: Platform, metrics: MetricsRegistry): PlatformAlerts {
  const { config, logger, egress } = platform;
  const { callback_url: url } = config.alerts;
  if (url !== undefined) assertCallbackAllowed({ callback: { url } }, egress);
  const etcd = createEtcd({ hosts: config.registry.etcd });
  const base = { etcd, keyPrefix: config.registry.key_prefix, tenant: DEFAULT_TENANT };
  const channels = channelsOf(platform, metrics);
  const alerts = new Alerts({ claims: new AlertClaims(base), channels, logger, clock: systemClock });
  return {
    alerts,
    async stop() {
      await alerts.stop();
      etcd.close();
    },
  };
}

function channelsOf({ config, logger, publisher, callbacks }: Platform, metrics: MetricsRegistry) {
  const { callback_url: url } = config.alerts;
  const channels = [logChannel(logger), alertCounter(metrics), topicChannel(publisher)];
  return url === undefined ? channels : [...channels, callbackChannel(callbacks.starter, url)];
}

/** What the doctor asks of etcd. */
import { performance } from 'node:perf_hooks';
import type { Etcd3 } from 'etcd3';
import { request } from 'undici';
import { callEtcd } from '../../registry/etcd/etcd-client';
import type { ClockSeen, EtcdSpace } from './engines';

/** Longest wait for etcd's HTTP side, ms. */
const HTTP_TIMEOUT_MS = 2_000;
/** A `Date` header says whole seconds, cut off: on average the half of one later. */
const DATE_HALF_MS = 500;

/** Version and space of the member that answers. */
export async function etcdStatus(etcd: Etcd3): Promise<{ version: string; space: EtcdSpace }> {
  return callEtcd('asking how etcd is', async () => {
    const [status, { alarms }] = await Promise.all([
      etcd.maintenance.status(),
      etcd.maintenance.alarm({ action: 'Get' }),
    ]);
    return {
      version: status.version,
      space: {
        bytes: Number(status.dbSize),
        inUseBytes: Number(status.dbSizeInUse || status.dbSize),
        alarms: [...new Set((alarms ?? []).map(({ alarm }) => String(alarm).toUpperCase()))],
      },
    };
  });
}

/**
 * The clock of etcd, by the `Date` header of its HTTP side, which lies on the port of its clients.
 * @returns null where that cannot be asked: over TLS with client certificates, or with HTTP switched off
 */
export async function etcdClock(host: string): Promise<ClockSeen | null> {
  const url = `${host.includes('://') ? host : `http://${host}`}/version`;
  const startedMs = performance.now();
  const wallMs = new Date().getTime();
  try {
    const { headers, body } = await request(url, { signal: AbortSignal.timeout(HTTP_TIMEOUT_MS) });
    await body.dump();
    const date = Date.parse(String(headers.date));
    if (!Number.isFinite(date)) return null;
    const halfTripMs = (performance.now() - startedMs) / 2;
    const aheadMs = date + DATE_HALF_MS - (wallMs + halfTripMs);
    return { whose: 'etcd', aheadMs, withinMs: DATE_HALF_MS + halfTripMs };
  } catch {
    return null;
  }
}

/** Whether a host of `registry.etcd` is on this machine. */
export function isOnThisMachine(host: string): boolean {
  const name = host.replace(/^https?:\/\//, '').replace(/:\d+$/, '');
  return name === 'localhost' || name === '[::1]' || /^127\./.test(name);
}

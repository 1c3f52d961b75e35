import { systemClock } from '../../registry';
import type { AlertInput } from './alert';
import { Alerts, type AlertClaims } from './alerts';

const alert: AlertInput = {
  kind: 'k',
  key: 'a',
  severity: 'warning',
  message: 'm',
  details: {},
  windowMs: 86_400_000,
};
const SILENT = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/** Claims as etcd has them, without time. */
function claimsOf(held = new Set<string>()): AlertClaims & { held: Set<string>; asked: number } {
  const claims = {
    held,
    asked: 0,
    claim: (kind: string, key: string) => {
      claims.asked += 1;
      const free = !held.has(`${kind}/${key}`);
      held.add(`${kind}/${key}`);
      return Promise.resolve(free);
    },
    release: (kind: string, key: string) => Promise.resolve(void held.delete(`${kind}/${key}`)),
  };
  return claims;
}

function alertsOf(claims: AlertClaims, send: () => Promise<void>, retryDelaysMs = [1]) {
  const time = { nowMs: 0 };
  const clock = { ...systemClock, monotonicMs: () => time.nowMs };
  const alerts = new Alerts({ claims, channels: [{ name: 'c', send }], logger: SILENT, clock, retryDelaysMs });
  return { alerts, time };
}

const down = () => Promise.reject(new Error('down'));
const settled = () => new Promise((resolve) => setTimeout(resolve, 30));

test('an alert that a channel never took is raised again by whoever notices next', async () => {
  const claims = claimsOf();
  let sends: () => Promise<void> = down;
  const { alerts } = alertsOf(claims, () => sends());
  expect(await alerts.raise(alert)).toBe(true);
  while (claims.held.size > 0) await settled();
  sends = () => Promise.resolve();
  expect(await alerts.raise(alert)).toBe(true);
  await settled();
  expect(claims.held.size).toBe(1);
  expect(await alerts.raise(alert)).toBe(false);
});

test('one that could not be sent before the process stops is left to others', async () => {
  const claims = claimsOf();
  const { alerts } = alertsOf(claims, down, [60_000]);
  await alerts.raise(alert);
  await alerts.stop();
  expect(await alertsOf(claims, () => Promise.resolve()).alerts.raise(alert)).toBe(true);
});

test('a claim that was not made here is not given up: neither when etcd was away, nor after its window', async () => {
  const claims = claimsOf(new Set(['k/a']));
  const blind = { ...claims, claim: () => Promise.reject(new Error('away')) };
  const first = alertsOf(blind, down);
  expect(await first.alerts.raise(alert)).toBe(true);
  await first.alerts.stop();
  expect(claims.held.size).toBe(1);

  claims.held.clear();
  const late = alertsOf(claims, down, [60_000]);
  await late.alerts.raise(alert);
  late.time.nowMs = alert.windowMs!;
  await late.alerts.stop();
  expect(claims.held.size).toBe(1);
});

test('what another has claimed is asked for again before long, and not before', async () => {
  const claims = claimsOf(new Set(['k/a']));
  const { alerts, time } = alertsOf(claims, () => Promise.resolve());
  expect(await alerts.raise(alert)).toBe(false);
  time.nowMs = 59_000;
  expect(await alerts.raise(alert)).toBe(false);
  expect(claims.asked).toBe(1);
  claims.held.clear();
  time.nowMs = 61_000;
  expect(await alerts.raise(alert)).toBe(true);
});

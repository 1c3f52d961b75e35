import { setTimeout as sleep } from 'node:timers/promises';
import { http } from '../harness/http';
import type { Scenario } from '../harness/scenario';
import { eventually } from '../harness/waiting';

/** The gateway loses etcd in silence: it goes on with what it knows, says so, and recovers. */
export const gatewayCut: Scenario = {
  row: 19,
  name: 'gateway cut from etcd',
  floor: 0.97,
  stage: { workers: 1, proxied: { gatewayEtcd: true } },
  async run(act) {
    const abilities = [await act.agent('plain'), await act.agent('idempotent', { idempotent: true })];
    const load = act.load({ messages: act.scaled(120), overMs: 12_000, abilities });
    await sleep(1_000);
    act.say('cutting the gateway from etcd, in silence');
    act.stage.proxies.gatewayEtcd?.cut({ silent: true });
    const readiness = () => http('GET', `${act.stage.urls[0]}/readyz`, { limitMs: 3_000 });
    const startedMs = performance.now();
    const noticed = await eventually(async () => (await readiness())?.body?.registry?.connected === false, {
      limitMs: 20_000,
    });
    act.expect(noticed, '/readyz does not say that the registry is cut off');
    if (noticed) act.notes.push(`noticed after ${((performance.now() - startedMs) / 1_000).toFixed(1)} s`);
    await sleep(3_000);
    const age = (await readiness())?.body?.registry?.last_sync_age_ms as number | undefined;
    act.expect((age ?? 0) > 1_000, `the age of the view is given as ${age} ms`);
    act.stage.proxies.gatewayEtcd?.mend();
    await act.recovered();
    await act.settle(load);
  },
};

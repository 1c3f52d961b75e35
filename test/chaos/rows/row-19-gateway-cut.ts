import { setTimeout as sleep } from 'node:timers/promises';
import { http } from '../harness/http';
import type { Scenario } from '../harness/scenario';
import { eventually } from '../harness/waiting';
import { leaseInstances, readyCount } from './leased-instance';
import { expectFailsClosed, expectRegistersAgain, expectServed, sendMeanwhile, watchReady } from './meanwhile';

/** Shorter than the fault. The instances talk to the other gateway: their leases live, but the one cut off cannot know. */
const TTL_SEC = 5;
const INSTANCES = 10;
const CUT_AT_LEAST_MS = (TTL_SEC + 3) * 1_000;

/** One of two gateways loses etcd in silence: it goes on with what it knows, says so, and recovers. */
export const gatewayCut: Scenario = {
  row: 19,
  name: 'gateway cut from etcd',
  floor: 0.97,
  stage: { gateways: 2, workers: 1, proxied: { gatewayEtcd: true } },
  async run(act) {
    const [cut, other] = act.stage.urls as [string, string];
    const leased = await act.agent('leased', { address: null });
    const abilities = [await act.agent('plain'), await act.agent('idempotent', { idempotent: true }), leased];
    const instances = await leaseInstances(act, leased, { count: INSTANCES, ttlSec: TTL_SEC, gateway: other });
    const known = await eventually(async () => (await readyCount(cut, leased)) === INSTANCES, { limitMs: 10_000 });
    if (!known) throw new Error('the leased instances are not known at the gateway that is to be cut off');
    const load = act.load({ messages: act.scaled(80), overMs: 12_000, abilities });
    await sleep(1_000);
    act.say('cutting the gateway from etcd, in silence');
    act.stage.proxies.gatewayEtcd?.cut({ silent: true });
    const startedMs = performance.now();
    const watch = watchReady(act, cut, leased);
    const meanwhile = sendMeanwhile(act, {
      abilities,
      messages: act.scaled(36),
      overMs: CUT_AT_LEAST_MS,
      gateways: [cut],
    });
    const readiness = () => http('GET', `${cut}/readyz`, { limitMs: 3_000 });
    const noticed = await eventually(async () => (await readiness())?.body?.registry?.connected === false, {
      limitMs: 20_000,
    });
    act.expect(noticed, '/readyz does not say that the registry is cut off');
    if (noticed) act.notes.push(`noticed after ${((performance.now() - startedMs) / 1_000).toFixed(1)} s`);
    await expectFailsClosed(act, cut);
    await meanwhile.over;
    const age = (await readiness())?.body?.registry?.last_sync_age_ms as number | undefined;
    act.expect((age ?? 0) > 1_000, `the age of the view is given as ${age} ms`);
    const { fewest } = await watch.stop();
    act.expect(fewest === INSTANCES, `only ${fewest} of ${INSTANCES} instances were known as ready during the cut`);
    act.stage.proxies.gatewayEtcd?.mend();
    await act.recovered();
    await expectRegistersAgain(act, cut);
    expectServed(act, meanwhile, abilities);
    await act.settle(load, meanwhile.load);
    instances.stop();
  },
};

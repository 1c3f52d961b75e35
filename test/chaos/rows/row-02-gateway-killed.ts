import { setTimeout as sleep } from 'node:timers/promises';
import type { Scenario } from '../harness/scenario';

/** Gateways are killed at random moments, so before and after the durable start; callers come again with the same key. */
export const gatewayKilled: Scenario = {
  row: 2,
  name: 'gateway killed before or after the durable start',
  floor: 0.98,
  stage: { gateways: 2, workers: 1 },
  async run(act) {
    const abilities = [await act.agent('plain'), await act.agent('idempotent', { idempotent: true })];
    const load = act.load({
      messages: act.scaled(200),
      overMs: 8_000,
      abilities,
      semantics: ['at_least_once', 'exactly_once'],
      repeats: 0.2,
    });
    const kills = act.scaled(6);
    for (let kill = 1; kill <= kills; kill += 1) {
      await sleep(act.random.between(200, 1_200));
      act.say(`killing a gateway, ${kill} of ${kills}`);
      await act.random.pick(act.stage.gateways).kill('SIGKILL');
    }
    await act.recovered();
    await act.settle(load);
    const again = load.sent.filter(({ tries, receipt }) => tries > 1 && receipt).length;
    const replayed = load.sent.filter(({ receipt }) => receipt?.replayed).length;
    act.notes.push(`${kills} kills; ${again} accepted at a later try, ${replayed} receipts replayed`);
    act.expect(again > 0, 'no caller had to come again: the kills hit nothing');
  },
};

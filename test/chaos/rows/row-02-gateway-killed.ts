import { setTimeout as sleep } from 'node:timers/promises';
import type { Act } from '../harness/act';
import type { Load } from '../harness/load';
import type { Scenario } from '../harness/scenario';

/**
 * Gateways are killed at random moments, and the moment an agent has received a call, so before and after the durable start; callers
 * come again with the same key.
 */
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
      workMs: { from: 50, to: 300 },
      repeats: 0.2,
      waiting: 0.7,
    });
    const kills = act.scaled(6);
    for (let kill = 1; kill <= kills; kill += 1) await killOne(act, { kill, kills });
    await act.recovered();
    await act.settle(load);
    const { again, replayed } = returns(load);
    act.notes.push(`${kills} kills; ${again} accepted at a later try, ${replayed} of them had been started before`);
    act.expect(again > replayed, 'nobody had to come again before the durable start: those kills hit nothing');
    act.expect(replayed > 0, 'nobody had to come again after the durable start: those kills hit nothing');
  },
};

/** Every other time both, when an agent has received a call: its reach is started, and its caller waits at one of them. */
async function killOne(act: Act, { kill, kills }: { kill: number; kills: number }): Promise<void> {
  const { gateways, agents } = act.stage;
  if (kill % 2 === 1) {
    await sleep(act.random.between(200, 1_200));
    act.say(`killing a gateway, ${kill} of ${kills}`);
    await act.random.pick(gateways).kill('SIGKILL');
    return;
  }
  await agents.nextArrival(5_000);
  act.say(`killing the gateways when a reach has begun, ${kill} of ${kills}`);
  await Promise.all(gateways.map((gateway) => gateway.kill('SIGKILL')));
  await Promise.all(gateways.map((gateway) => gateway.whenReady()));
}

/** Who came again under a key that nobody else used, and to how many of those it was said that their reach had begun. */
function returns({ sent }: Load): { again: number; replayed: number } {
  const uses = new Map<string, number>();
  for (const { message } of sent) uses.set(message.key, (uses.get(message.key) ?? 0) + 1);
  const again = sent.filter(({ message, tries, receipt }) => tries > 1 && receipt && uses.get(message.key) === 1);
  return { again: again.length, replayed: again.filter(({ receipt }) => receipt?.replayed).length };
}

import type { Act } from '../harness/act';
import { http } from '../harness/http';
import type { Scenario } from '../harness/scenario';
import { inParallel } from '../harness/waiting';

/** Two gateways get the same key at the same moment; with another body, one of them must refuse. */
export const racingGateways: Scenario = {
  row: 21,
  name: 'two gateways, one key',
  floor: 0.98,
  stage: { gateways: 2, workers: 1 },
  async run(act) {
    const abilities = [await act.agent('plain'), await act.agent('idempotent', { idempotent: true })];
    const pairs = Array.from({ length: act.scaled(200) }, (_, index) => index);
    act.say(`${pairs.length} racing pairs`);
    const load = act.load({ messages: 1, overMs: 1, abilities });
    const sent = await inParallel(pairs, 8, async (index) => {
      const message = act.message(act.random.pick(abilities), `pair-${index}`, {
        waitSec: act.random.chance(0.5) ? 10 : null,
      });
      const both = await Promise.all([act.caller().send(message), otherGateway(act).send(message)]);
      const ids = new Set(both.map(({ reachId }) => reachId));
      act.expect(ids.size === 1 && !ids.has(null), `pair ${index} got ${[...ids].join(' and ')}`);
      const told = both.map(({ receipt }) => receipt?.replayed);
      // Who had to come again may have begun it before.
      const isTold = both.some(({ tries }) => tries > 1) || (told.includes(true) && told.includes(false));
      act.expect(isTold, `pair ${index}: both were told that replayed is ${told.join(' and ')}`);
      return both;
    });
    load.sent.push(...sent.flat());
    await differentBodies(act, abilities[0]!);
    await act.settle(load);
  },
};

function otherGateway(act: Act) {
  const caller = act.caller();
  // One step ahead, so that the pair meets different gateways.
  caller.skip();
  return caller;
}

async function differentBodies(act: Act, ability: string): Promise<void> {
  const races = Array.from({ length: act.scaled(20) }, (_, index) => index);
  act.say(`${races.length} races with different bodies`);
  await inParallel(races, 4, async (index) => {
    const post = (url: string, tag: string) =>
      http('POST', `${url}/v1/reaches`, {
        headers: { 'idempotency-key': act.named(`differs-${index}`), prefer: 'respond-async' },
        body: { ability, payload: { plan: [], work_ms: 10, tag } },
      });
    const [first = '', second = first] = act.stage.urls;
    const answers = await Promise.all([post(first, 'a'), post(second, 'b')]);
    const statuses = answers.map((answer) => answer?.status ?? 0).sort();
    const [taken = 0, refused] = statuses;
    act.expect(
      taken >= 200 && taken < 300 && refused === 422,
      `different bodies under one key: ${statuses.join(' and ')}, 0 for no answer`,
    );
  });
}

import type { Scenario } from '../harness/scenario';
import { eventually } from '../harness/waiting';

/** Silence for so long means another delivery. */
const ACK_TIMEOUT_MS = 2_000;
/** Posts of every result at once. */
const COPIES = 50;

/**
 * An agent accepts everything and falls silent, so that its messages are delivered again; then it posts the result of every attempt
 * fifty times at once, through both gateways. One result counts, that of the attempt that is waited for.
 */
export const duplicateResults: Scenario = {
  row: 13,
  name: 'duplicate and late results',
  floor: 0.95,
  stage: { gateways: 2, workers: 2 },
  async run(act) {
    const ability = await act.agent('repeats', { endpoint: { ack_timeout_ms: ACK_TIMEOUT_MS, max_retry: 10 } });
    act.stage.agents.setMode(ability, 'hold');
    const load = act.load({ messages: act.scaled(40), overMs: 500, abilities: [ability], timeoutMs: 60_000 });
    const again = () => act.stage.agents.journal([ability]).filter(({ attempt }) => attempt > 1).length;
    await eventually(() => again() >= load.planned / 2, { limitMs: 20_000 });
    act.say('the results of all attempts, fifty times each');
    act.stage.agents.setMode(ability, 'script');
    act.stage.urls.forEach((url) => act.stage.agents.release(ability, url, COPIES / act.stage.urls.length));
    await act.recovered();
    await act.settle(load);
    act.expect(again() > 0, 'nothing was delivered again, so that no result could come too late');
    act.notes.push(`${again()} deliveries after a silence`);
  },
};

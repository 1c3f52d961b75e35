/** What has to go on, and what has to be refused, while the registry is out of reach. */
import type { Act } from '../harness/act';
import { http } from '../harness/http';
import { draw, follow, startLoad, type Load } from '../harness/load';
import { percent } from '../harness/run-scenario';
import { eventually } from '../harness/waiting';
import { readyCount } from './leased-instance';

/** Of the reaches to each agent, so many complete although the registry is away. */
const SERVED_SHARE = 0.95;
/** Who is refused comes again for so long, ms: a busy machine refuses now and then. */
const PATIENCE_MS = 5_000;
/** Time of a reach, ms. */
const ENDED_WITHIN_MS = 30_000;
/** A registration is refused within this, ms: several times what a gateway waits for etcd. */
const REFUSED_WITHIN_MS = 15_000;

/** What is sent during an outage, and to which gateways (default: all). */
export interface MeanwhileSpec {
  abilities: readonly string[];
  messages: number;
  overMs: number;
  gateways?: readonly string[];
}

/** What was sent during an outage. */
export interface Meanwhile {
  load: Load;
  /** Every reach has ended, or was given up. Await it before the outage ends: it cannot be slept through then. */
  over: Promise<void>;
  /** Reaches that a caller saw completed before that. */
  served: Set<string>;
}

/** Callers whose patience ends before the outage does, and who wait for the end of their reaches. Judge by {@link expectServed}. */
export function sendMeanwhile(act: Act, { abilities, messages, overMs, gateways }: MeanwhileSpec): Meanwhile {
  const spec = { messages, overMs, abilities, waiting: 1, timeoutMs: ENDED_WITHIN_MS };
  const caller = act.caller(PATIENCE_MS, gateways);
  const load = startLoad(draw(spec, act.random, act.named('meanwhile')), caller);
  const served = new Set<string>();
  const over = load.done.then(async () => {
    for (const { reach_id, status } of await follow(load, caller, ENDED_WITHIN_MS))
      if (status === 'completed') served.add(reach_id);
  });
  return { load, over, served };
}

/** What is known goes on to be used: nearly every reach of the outage was completed while it lasted. */
export function expectServed(act: Act, { load, served }: Meanwhile, abilities: readonly string[]): void {
  for (const ability of abilities) {
    const asked = load.sent.filter(({ message }) => message.ability === ability);
    const count = asked.filter(({ reachId }) => reachId !== null && served.has(reachId)).length;
    const setbacks = [...new Set(asked.flatMap((each) => each.setbacks))].join(', ') || 'not completed in time';
    act.expect(
      asked.length > 0 && count >= SERVED_SHARE * asked.length,
      `${count} of ${asked.length} reaches to ${ability} were served during the outage, expected ${percent(SERVED_SHARE)}: ${setbacks}`,
    );
  }
}

/** What cannot be written down is refused, and as something that passes: an agent that is registered only in words gets no calls. */
export async function expectFailsClosed(act: Act, gateway: string): Promise<void> {
  const startedMs = performance.now();
  const status = await registration(act, gateway, 'registered-meanwhile');
  act.notes.push(
    `a registration during the outage: ${status ?? 'no answer'} after ${Math.round(performance.now() - startedMs)} ms`,
  );
  act.expect(
    status === 503,
    `a valid registration during the outage was answered ${status ?? 'nothing'}, expected 503`,
  );
}

/** The same registration is taken when the outage is over: it was refused for the outage and nothing else. */
export async function expectRegistersAgain(act: Act, gateway: string): Promise<void> {
  let status: number | null = null;
  const again = async () => {
    status = await registration(act, gateway, 'registered-afterwards');
    return status === 201 || status === 200;
  };
  await eventually(again, { limitMs: REFUSED_WITHIN_MS });
  act.expect(status === 201 || status === 200, `a registration after the outage was answered ${String(status)}`);
}

/** Watches whom a gateway routes to: the end of leases that nobody could renew is no mass deregistration. */
export function watchReady(act: Act, gateway: string, agent: string): { stop(): Promise<{ fewest: number }> } {
  let [fewest, looks, over] = [Number.POSITIVE_INFINITY, 0, false];
  const look = async () => {
    const count = await readyCount(gateway, agent);
    if (count !== null) [fewest, looks] = [Math.min(fewest, count), looks + 1];
    return over;
  };
  const watching = eventually(look, { limitMs: Number.POSITIVE_INFINITY, everyMs: 500 });
  return {
    async stop() {
      over = true;
      await watching;
      act.expect(looks > 1, `the gateway did not say whom it routes to during the outage`);
      return { fewest };
    },
  };
}

async function registration(act: Act, gateway: string, name: string): Promise<number | null> {
  const agent = act.named(name);
  const body = {
    name: agent,
    version: '1.0.0',
    capabilities: [{ name: agent, description: `does the work of ${agent}` }],
    endpoint: { protocol: 'http', address: act.stage.agents.urlOf(agent) },
  };
  return (await http('POST', `${gateway}/v1/agents`, { body, limitMs: REFUSED_WITHIN_MS }))?.status ?? null;
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { BreakerItem } from '../../../src/protocol/breaker-override';
import type { Act } from '../harness/act';
import type { Script } from '../harness/agent-script';
import type { Sent } from '../harness/caller';
import { http } from '../harness/http';
import type { Load } from '../harness/load';

/** Where every gateway says that the breaker of an agent's ability of the same name stands; `unknown` where one says nothing. */
export function statesOf(act: Act, ability: string): Promise<string[]> {
  return Promise.all(
    act.stage.urls.map(async (url) => {
      const answer = await http('GET', `${url}/v1/breakers?all=true`, { limitMs: 3_000 });
      const items = (answer?.status === 200 ? answer.body.items : []) as BreakerItem[];
      return items.find((item) => item.ability === ability)?.state ?? 'unknown';
    }),
  );
}

/** Nobody but a probe passes. */
export function isShut(state: string): boolean {
  return state === 'open' || state === 'half_open';
}

/** How some callers go on asking. */
export interface AskingSpec {
  prefix: string;
  /** So many, each of whom waits for its answer, and then for a while: as much as there is room for, whatever the machine. */
  callers: number;
  pauseMs: number;
  /** What the agent is to do with the nth message. */
  scriptOf: (n: number) => Omit<Script, 'tag'>;
  mode?: 'async';
  /** For how long one who is refused comes again, ms; 0: not at all. */
  patienceMs: number;
}

/** Sends one message after the other, through all gateways in turn, until it is stopped. */
export function keepAsking(act: Act, ability: string, spec: AskingSpec): { load: Load; stop(): void } {
  const { prefix, callers, pauseMs, scriptOf, mode, patienceMs } = spec;
  const sent: Sent[] = [];
  const caller = act.caller(patienceMs);
  let isOver = false;
  let n = 0;
  const ask = async () => {
    while (!isOver) {
      const tag = `${prefix}-${n}`;
      const script = { ...scriptOf(n), tag };
      n += 1;
      const more = { timeoutMs: 60_000, waitSec: 20, script, ...(mode && { mode }) };
      sent.push(await caller.send(act.message(ability, tag, more)));
      await sleep(pauseMs);
    }
  };
  const done = Promise.all(Array.from({ length: callers }, ask)).then(() => undefined);
  return { load: { planned: 0, sent, done }, stop: () => void (isOver = true) };
}

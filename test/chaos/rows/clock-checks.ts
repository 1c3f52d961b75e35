import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Act } from '../harness/act';
import { http } from '../harness/http';
import type { Load } from '../harness/load';
import { eventually } from '../harness/waiting';

/** How exactly a clock must be off, minutes. */
const TOLERANCE_MINUTES = 1;

/**
 * Proves that the clocks are off, and which way: a gateway's tells itself in the `Date` of its answers, a worker's in when it began an
 * attempt. Minutes, positive for fast.
 */
export async function clocksAreOff(act: Act, off: { gateways: number[]; worker: number }): Promise<void> {
  for (const [index, url] of act.stage.urls.entries()) {
    const answer = await http('GET', `${url}/healthz`);
    isOff(act, `gateway ${index + 1}`, { told: answer?.headers.get('date'), minutes: off.gateways[index]! });
  }
  const ability = await act.agent(`tells-time-${off.worker}`);
  const answer = await http('POST', `${act.stage.urls[0]}/v1/reaches`, {
    headers: { prefer: 'wait=20' },
    body: { ability, payload: { plan: ['reject'], work_ms: 1, tag: 'time' } },
  });
  isOff(act, 'the worker', { told: answer?.body?.attempts?.[0]?.started_at, minutes: off.worker });
}

function isOff(act: Act, whose: string, { told, minutes }: { told: unknown; minutes: number }): void {
  const offMinutes = (Date.parse(String(told)) - new Date().getTime()) / 60_000;
  const isAsMeant = Math.abs(offMinutes - minutes) < TOLERANCE_MINUTES;
  act.expect(isAsMeant, `the clock of ${whose} is off by ${offMinutes.toFixed(1)} minutes, not by ${minutes}`);
}

/** Accepted with 202 and delivered later, with tokens that a worker's clock made and a gateway's clock judges: at each gateway. `clock`: what the worker's is, for names. */
export async function lateResultsAreTaken(act: Act, clock: string): Promise<Load> {
  act.say('results that come later');
  const load: Load = { planned: 0, sent: [], done: Promise.resolve() };
  for (const [index, url] of act.stage.urls.entries()) {
    const ability = await act.agent(`late-${clock}-${index}`);
    act.stage.agents.setMode(ability, 'hold');
    const sent = await act.caller(undefined, [url]).send(act.message(ability, `late-${clock}-${index}`));
    load.sent.push(sent);
    load.planned += 1;
    const isHeld = () => act.stage.agents.journal([ability]).some(({ answer }) => answer === 'hold');
    act.expect(await eventually(isHeld, { limitMs: 10_000 }), `late ${index + 1}: the agent was not called`);
    act.stage.agents.release(ability, url);
    const end = await act.caller().ended(sent.reachId ?? '', 10_000);
    act.expect(end?.status === 'completed', `a late result at gateway ${index + 1} led to ${end?.status ?? 'nothing'}`);
  }
  return load;
}

/** A callback is posted once, soon after the end. Its timestamp is the worker's: a receiver would have to know that it is off. */
export async function callbacksArrive(act: Act): Promise<void> {
  act.say('callbacks');
  const ability = await act.agent('tells');
  const told: string[] = [];
  const receiver = await receive((body) => told.push(`${body.type} ${body.data.reach_id}`));
  try {
    const { port } = receiver.address() as AddressInfo;
    const ids: string[] = [];
    for (const url of act.stage.urls) {
      const answer = await http('POST', `${url}/v1/reaches`, {
        headers: { prefer: 'respond-async' },
        body: {
          ability,
          payload: { plan: [], work_ms: 1, tag: 'told' },
          callback: { url: `http://127.0.0.1:${port}/` },
        },
      });
      ids.push(String(answer?.body?.reach_id));
    }
    await eventually(() => told.length >= ids.length, { limitMs: 15_000 });
    const expected = ids.map((id) => `reach.completed ${id}`).sort();
    act.expect(told.sort().join() === expected.join(), `callbacks told ${told.join(', ') || 'nothing'}`);
  } finally {
    receiver.close();
    receiver.closeAllConnections();
  }
}

async function receive(tell: (body: { type: string; data: { reach_id: string } }) => void): Promise<Server> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      tell(JSON.parse(Buffer.concat(chunks).toString('utf8')) as Parameters<typeof tell>[0]);
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return server;
}

/** What a breaker may take to open or to close, with traffic all the time. */
const BREAKER_LIMIT_MS = 30_000;

/** A breaker, whose state all processes share, opens for an agent that only fails and closes again when it is well: at both gateways. */
export async function breakerGoesRound(act: Act): Promise<void> {
  act.say('an agent that only fails, until its breaker is open');
  const ability = await act.agent('sick', { endpoint: { max_retry: 0 } });
  act.stage.agents.setMode(ability, 'error');
  const opened = await becomes(act, ability, 'open');
  act.expect(opened, `the breaker did not open at both gateways: ${(await states(act, ability)).join(' and ')}`);
  act.say('it is well again, until its breaker is closed');
  act.stage.agents.setMode(ability, 'script');
  const closed = await becomes(act, ability, 'closed');
  act.expect(closed, `the breaker did not close at both gateways: ${(await states(act, ability)).join(' and ')}`);
}

/** Sends through both gateways until each shows this state. */
async function becomes(act: Act, ability: string, state: string): Promise<boolean> {
  const from = performance.now();
  const callers = act.stage.urls.map((url) => act.caller(0, [url]));
  const isThere = async () => {
    if ((await states(act, ability)).every((each) => each === state)) return true;
    const key = `${state}-${Math.round(performance.now() - from)}`;
    await Promise.all(
      callers.map((caller, index) => caller.send(act.message(ability, `${key}-${index}`, { waitSec: 5 }))),
    );
    await sleep(50);
    return false;
  };
  return eventually(isThere, { limitMs: BREAKER_LIMIT_MS });
}

function states(act: Act, agent: string): Promise<string[]> {
  return Promise.all(
    act.stage.urls.map(async (url) => {
      const answer = await http('GET', `${url}/v1/agents/${agent}`);
      return (answer?.body?.abilities?.[0]?.breaker?.state ?? 'unknown') as string;
    }),
  );
}

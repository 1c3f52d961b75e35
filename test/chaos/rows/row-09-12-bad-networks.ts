import { createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Act } from '../harness/act';
import { http } from '../harness/http';
import type { Scenario } from '../harness/scenario';
import { eventually } from '../harness/waiting';

/** What an attempt at a bad agent may take, ms; its own timeout, and less than half of any message's time. */
const AGENT_TIMEOUT_MS = 1_000;
/** Room for scheduling and retries on a busy machine. */
const SLACK_MS = 6_000;

/** An agent that takes connections and never reads: attempts end in time, the breaker opens, others go on. */
export const blackHole: Scenario = {
  row: 9,
  name: 'agent is a black hole',
  floor: 0.6,
  stage: { workers: 1 },
  async run(act) {
    const hole = await openBlackHole();
    try {
      const endpoint = { timeout_ms: AGENT_TIMEOUT_MS, max_retry: 1 };
      const ability = await act.agent('hole', { address: hole.url, endpoint });
      const healthy = await act.agent('healthy');
      const load = act.load({
        messages: act.scaled(80),
        overMs: 10_000,
        abilities: [ability, healthy, healthy, healthy],
        timeoutMs: 8_000,
        waiting: 0,
      });
      await load.done;
      await breakerOpens(act, ability);
      await act.recovered();
      const { runs } = await act.settle(load);
      const slow = runs.filter(({ status }) => status === 'expired').length;
      act.notes.push(`${slow} reaches to the black hole ran out of time, the rest failed before`);
      act.expect(
        runs.filter(({ key, status }) => sentTo(load, key) === healthy && status !== 'completed').length === 0,
        'reaches to the healthy agent failed',
      );
    } finally {
      hole.close();
    }
  },
};

/** An agent that drips bytes for ever, and one that answers far too much: total deadline and byte cap hold. */
export const drippingAgent: Scenario = {
  row: 10,
  name: 'agent drips or floods',
  floor: 0.4,
  // What is injected fails on purpose: a breaker would keep most of it away.
  stage: {
    config: { breaker: { enabled: false }, payloads: { max_bytes: 1_048_576 } },
    workers: 1,
    proxied: { agents: true },
  },
  async run(act) {
    const endpoint = { timeout_ms: AGENT_TIMEOUT_MS, max_retry: 1 };
    const [bad, healthy] = [await act.agent('bad', { endpoint }), await act.agent('healthy')];
    act.stage.agents.setMode(bad, 'drip');
    const drips = act.load(
      { messages: act.scaled(8), overMs: 1_000, abilities: [bad], waiting: 0 },
      { prefix: 'drip' },
    );
    const beside = act.load({ messages: act.scaled(40), overMs: 5_000, abilities: [healthy] }, { prefix: 'beside' });
    await drips.done;
    await endsWithin(
      act,
      drips.sent.flatMap(({ reachId }) => reachId ?? []),
      2 * AGENT_TIMEOUT_MS + SLACK_MS,
    );
    act.say('an agent that answers 4 MB');
    act.stage.agents.setMode(bad, 'flood');
    const flood = act.load({ messages: act.scaled(8), overMs: 500, abilities: [bad], waiting: 0 }, { prefix: 'flood' });
    await flood.done;
    act.say('answers cut into slices of 20 bytes');
    await beside.done;
    act.stage.proxies.agents?.poison({ sliceBytes: 20 });
    const sliced = act.load({ messages: act.scaled(20), overMs: 1_000, abilities: [healthy] }, { prefix: 'sliced' });
    await sliced.done;
    act.stage.proxies.agents?.poison({});
    await act.recovered();
    const { runs } = await act.settle(drips, beside, flood, sliced);
    const of = (prefix: string) => runs.filter(({ key }) => key.startsWith(act.named(prefix)));
    act.expect(
      of('drip').every(({ status }) => status !== 'completed'),
      'a dripping answer was taken for a result',
    );
    const tooLarge = of('flood').filter(({ code }) => code === 'agent_response_too_large').length;
    act.expect(
      tooLarge > 0 && tooLarge === of('flood').length,
      `${tooLarge} of ${of('flood').length} floods were refused`,
    );
    act.expect(
      of('sliced').every(({ status }) => status === 'completed'),
      'a sliced answer was lost',
    );
  },
};

/** Connections that are open and dead, as behind a pulled cable: attempts end by their deadline. */
export const halfOpen: Scenario = {
  row: 11,
  name: 'half-open connections',
  // Of those cut off at once, eight may be tried again at a time; the others become dead letters.
  floor: 0.75,
  stage: { config: { breaker: { enabled: false } }, workers: 1, proxied: { agents: true } },
  async run(act) {
    const ability = await act.agent('far', { endpoint: { timeout_ms: AGENT_TIMEOUT_MS, max_retry: 5 } });
    const load = act.load({
      messages: act.scaled(60),
      overMs: 6_000,
      abilities: [ability],
      timeoutMs: 60_000,
      waiting: 0,
    });
    await sleep(1_500);
    act.say('the cable is pulled: connections stay open, nothing passes');
    act.stage.proxies.agents?.cut({ silent: true });
    await sleep(1_500);
    act.stage.proxies.agents?.mend();
    await act.recovered();
    await act.settle(load);
    act.notes.push(
      'between processes on one machine: the kernel still acknowledges, so this shows deadlines, not TCP keepalive',
    );
  },
};

/** The connection is reset in the middle of the answer, after the work was done. */
export const resetMidResponse: Scenario = {
  row: 12,
  name: 'reset in the middle of the answer',
  floor: 0.5,
  stage: { workers: 1 },
  async run(act) {
    const retriable = await act.agent('retriable');
    const idempotent = await act.agent('idempotent', { idempotent: true });
    const once = await act.agent('once', { idempotent: false });
    const load = act.load({
      messages: act.scaled(120),
      overMs: 8_000,
      abilities: [retriable, idempotent, once],
      semantics: ['at_least_once', 'at_least_once', 'at_most_once'],
      failures: { share: 0.25, steps: ['reset'] },
    });
    await act.recovered();
    const { runs, journal } = await act.settle(load);
    const unknown = runs.filter(({ status }) => status === 'outcome_unknown');
    act.expect(unknown.length > 0, 'no reach ended outcome_unknown, although some may not be sent again');
    const repeated = journal.filter(({ agent, attempt }) => agent === once && attempt > 1).length;
    act.expect(repeated === 0, `the agent that is not idempotent was called again ${repeated} times after a reset`);
    act.notes.push(`${unknown.length} reaches ended outcome_unknown`);
  },
};

async function openBlackHole() {
  const sockets = new Set<Socket>();
  const server = createServer({ pauseOnConnect: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const close = () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, close };
}

async function breakerOpens(act: Act, agent: string): Promise<void> {
  const state = async () => {
    const answer = await http('GET', `${act.stage.urls[0]}/v1/agents/${agent}`);
    return (answer?.body?.abilities?.[0]?.breaker?.state ?? 'unknown') as string;
  };
  const left = await eventually(async () => !['closed', 'unknown'].includes(await state()), { limitMs: 10_000 });
  act.expect(left, `the breaker of the black hole is ${await state()} after nothing but timeouts`);
}

async function endsWithin(act: Act, ids: string[], limitMs: number): Promise<void> {
  const startedMs = performance.now();
  const ends = await Promise.all(ids.map((id) => act.caller().ended(id, limitMs)));
  const late = ends.filter((end) => end === null).length;
  act.expect(late === 0, `${late} reaches had not ended ${Math.round(performance.now() - startedMs)} ms later`);
}

function sentTo(load: { sent: { message: { key: string; ability: string } }[] }, key: string): string | undefined {
  return load.sent.find(({ message }) => message.key === key)?.message.ability;
}

import { createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Run } from '../checker/facts';
import type { Act } from '../harness/act';
import { http } from '../harness/http';
import type { Load } from '../harness/load';
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
      const completed = new Set(runs.filter(({ status }) => status === 'completed').map(({ key }) => key));
      const toHealthy = load.sent
        .filter(({ message }) => message.ability === healthy)
        .map(({ message }) => message.key);
      const failed = toHealthy.filter((key) => !completed.has(key)).length;
      const slow = runs.filter(({ status }) => status === 'expired').length;
      act.notes.push(`${slow} reaches to the black hole ran out of time, the rest failed before`);
      act.expect(
        toHealthy.length > 0 && failed === 0,
        `${failed} of ${toHealthy.length} reaches to the healthy agent did not complete`,
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
    const flooding = await act.agent('flooding', { endpoint: { ...endpoint, timeout_ms: 5 * AGENT_TIMEOUT_MS } });
    act.stage.agents.setMode(bad, 'drip');
    act.stage.agents.setMode(flooding, 'flood');
    const few = (ability: string, prefix: string) =>
      act.load({ messages: act.scaled(8), overMs: 1_000, abilities: [ability], waiting: 0 }, { prefix });
    const drips = few(bad, 'drip');
    const beside = act.load({ messages: act.scaled(40), overMs: 5_000, abilities: [healthy] }, { prefix: 'beside' });
    await endsWithin(act, drips, 2 * AGENT_TIMEOUT_MS + SLACK_MS);
    act.say('an agent that answers 4 MB');
    const flood = few(flooding, 'flood');
    // Before answers are cut into slices: these would take for ever.
    await endsWithin(act, flood, 2 * 5 * AGENT_TIMEOUT_MS + SLACK_MS);
    act.say('answers cut into slices of 20 bytes');
    await beside.done;
    act.stage.proxies.agents?.poison({ sliceBytes: 20 });
    const sliced = act.load({ messages: act.scaled(20), overMs: 1_000, abilities: [healthy] }, { prefix: 'sliced' });
    await sliced.done;
    act.stage.proxies.agents?.poison({});
    await act.recovered();
    const { runs } = await act.settle(drips, beside, flood, sliced);
    const all = (what: string, { planned }: Load, holds: (run: Run) => boolean) => {
      const own = runs.filter(({ key }) => key.startsWith(act.named(what)));
      const good = own.filter(holds).length;
      const others = own.filter((run) => !holds(run)).map(({ status, code }) => code ?? status);
      act.expect(
        good === planned,
        `${what}: ${good} of ${planned} ended as they should, others as ${others.join(', ')}`,
      );
    };
    all('drip', drips, ({ status }) => status !== 'completed' && status !== 'running');
    all('flood', flood, ({ code }) => code === 'agent_response_too_large');
    all('sliced', sliced, ({ status }) => status === 'completed');
    const dripped = act.stage.agents.journal([bad]).filter(({ answer }) => answer === 'drip').length;
    act.expect(dripped >= drips.planned, `only ${dripped} of ${drips.planned} dripping answers were begun`);
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
    const { runs } = await act.settle(load);
    const again = runs.filter(({ attempts }) => (attempts?.length ?? 0) > 1);
    act.expect(again.length > 0, 'no attempt had to be made again: nothing was under way when the cable was pulled');
    const codes = new Set(runs.flatMap(({ attempts }) => attempts ?? []).flatMap(({ code }) => code ?? []));
    act.notes.push(
      `${again.length} reaches were tried again, after ${[...codes].join(', ') || 'nothing'}`,
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

async function endsWithin(act: Act, { sent, done }: Load, limitMs: number): Promise<void> {
  await done;
  const ids = sent.flatMap(({ reachId }) => reachId ?? []);
  const startedMs = performance.now();
  const ends = await Promise.all(ids.map((id) => act.caller().ended(id, limitMs)));
  const late = ends.filter((end) => end === null).length;
  act.expect(late === 0, `${late} reaches had not ended ${Math.round(performance.now() - startedMs)} ms later`);
}

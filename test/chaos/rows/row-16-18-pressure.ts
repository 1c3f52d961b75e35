import { readFileSync } from 'node:fs';
import type { Act } from '../harness/act';
import type { Sent } from '../harness/caller';
import { http } from '../harness/http';
import type { Load } from '../harness/load';
import type { RootProcess } from '../harness/root-process';
import type { Scenario } from '../harness/scenario';
import { eventually, inParallel } from '../harness/waiting';

/** What a gateway and a worker may take together with everything pending, MB; the programs and libraries that they share count once. */
const MEMORY_LIMIT_MB = 400;
/** What a reach to another agent may take meanwhile, ms (95th percentile). */
const STARVED_MS = 3_000;

/** How many callers send at a time: as fast as they are accepted, no faster. */
const SENDERS = 16;
/** What one reach may take on a slow machine to be delivered at the end, ms. */
const RELEASE_MS_EACH = 60;

/** An agent accepts many reaches and holds their results; others go on, memory stays bounded, and all are delivered. */
export const manyPending: Scenario = {
  row: 16,
  name: 'many reaches pending',
  floor: 0.99,
  alone: true,
  stage: { workers: 2 },
  async run(act) {
    const other = await act.agent('other', { idempotent: true });
    const holding = await act.agent('holding', { descriptor: { max_concurrency: 64 } });
    act.stage.agents.setMode(holding, 'hold');
    const count = act.scaled(act.options.reaches);
    act.say(`${count} reaches to an agent that holds them`);
    const load = await fill(act, holding, count);
    const seen = () => new Set(act.stage.agents.journal([holding]).map(({ reach_id }) => reach_id)).size;
    const limitMs = 30_000 + count * RELEASE_MS_EACH;
    await eventually(() => seen() >= load.planned, { limitMs, everyMs: 500 });
    act.expect(seen() >= load.planned, `only ${seen()} of ${load.planned} are held: the row is smaller than it says`);
    judgeMemory(act, seen());
    const beside = await othersGoOn(act, other);
    act.say('the agent delivers');
    act.stage.agents.release(holding, act.stage.urls[0]!);
    await eventually(() => act.stage.agents.journal([holding]).filter(({ worked }) => worked).length >= seen(), {
      limitMs,
      everyMs: 500,
    });
    await act.recovered();
    await act.settle(load, beside);
  },
};

async function fill(act: Act, ability: string, count: number): Promise<Load> {
  const numbers = Array.from({ length: count }, (_, index) => index);
  const caller = act.caller(120_000);
  const sent = await inParallel(numbers, SENDERS, (index) => {
    const script = { plan: [], work_ms: 1, tag: `held-${index}` };
    return caller.send(act.message(ability, `held-${index}`, { mode: 'async', timeoutMs: 3_600_000, script }));
  });
  return { planned: count, sent, done: Promise.resolve() };
}

async function othersGoOn(act: Act, ability: string): Promise<Load> {
  const times: number[] = [];
  const sent: Sent[] = [];
  for (let index = 0; index < 20; index += 1) {
    const startedMs = performance.now();
    sent.push(await act.caller().send(act.message(ability, `beside-${index}`, { waitSec: 10 })));
    times.push(performance.now() - startedMs);
  }
  const p95 = times.sort((a, b) => a - b)[Math.floor(times.length * 0.95)]!;
  act.notes.push(`others meanwhile: p95 ${Math.round(p95)} ms`);
  act.expect(p95 < STARVED_MS, `other agents are starved: p95 ${Math.round(p95)} ms`);
  const completed = sent.filter(({ receipt }) => receipt?.reach_status === 'completed').length;
  act.expect(
    completed === sent.length,
    `only ${completed} of ${sent.length} reaches to others were completed meanwhile`,
  );
  return { planned: sent.length, sent, done: Promise.resolve() };
}

/** The largest gateway and the largest worker; nothing where the system does not tell. */
function judgeMemory(act: Act, held: number): void {
  const largest = (processes: RootProcess[]) => processes.map(memoryOf).sort((a, b) => totalOf(b) - totalOf(a))[0]!;
  const [gateway, worker] = [largest(act.stage.gateways), largest(act.stage.workers)];
  const together = gateway.own + worker.own + Math.max(gateway.mapped, worker.mapped);
  act.notes.push(
    `${held} held; memory with all pending: gateway ${totalOf(gateway)}, worker ${totalOf(worker)}, together ${together} MB`,
  );
  act.expect(together < MEMORY_LIMIT_MB, `gateway and worker take ${together} MB`);
}

interface Memory {
  own: number;
  /** Files mapped into memory: programs and libraries, there once however many processes use them. */
  mapped: number;
}

function totalOf({ own, mapped }: Memory): number {
  return own + mapped;
}

/** Resident memory of a process, MB; 0 where the system does not tell. */
function memoryOf({ pid }: RootProcess): Memory {
  const status = readStatus(pid);
  const mb = (what: string) =>
    Math.round(Number(new RegExp(`^${what}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0) / 1_024);
  return { own: mb('RssAnon'), mapped: mb('RssFile') };
}

function readStatus(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    return '';
  }
}

/** A message that always fails is given up after its attempts, and holds up nobody. */
export const poisonMessage: Scenario = {
  row: 17,
  name: 'poison message',
  floor: 0.85,
  stage: { workers: 1 },
  async run(act) {
    const ability = await act.agent('plain', { endpoint: { max_retry: 3 } });
    const load = act.load({ messages: act.scaled(60), overMs: 5_000, abilities: [ability] });
    const poison = await sendPoison(act, ability);
    await act.recovered();
    const { runs } = await act.settle(load, poison);
    const dead = runs.filter(({ key }) => key.includes('poison'));
    act.expect(
      dead.length === poison.planned &&
        dead.every(({ status, attempts }) => status === 'dead_lettered' && attempts?.length === 4),
      `${dead.length} of ${poison.planned} poison messages ended, as ${dead.map(({ status, attempts }) => `${status} after ${attempts?.length}`).join(', ')}`,
    );
  },
};

async function sendPoison(act: Act, ability: string): Promise<Load> {
  const plan = Array.from({ length: 12 }, () => 'error' as const);
  const caller = act.caller();
  const sent = await Promise.all(
    [1, 2].map((n) =>
      caller.send(act.message(ability, `poison-${n}`, { script: { plan, work_ms: 5, tag: `poison-${n}` } })),
    ),
  );
  return { planned: sent.length, sent, done: Promise.resolve() };
}

/** Loads that a small heap may take before one is too much. */
const MOST_WAVES = 4;

/** The worker has a heap that large payloads overflow; what it was doing is done by the next one, or given up. */
export const outOfMemory: Scenario = {
  row: 18,
  name: 'worker out of memory',
  floor: 0.3,
  stage: { workers: 2, workerNodeArgs: ['--max-old-space-size=60'] },
  async run(act) {
    const endpoint = { max_retry: 8, timeout_ms: 20_000 };
    const ability = await act.agent('plain', { endpoint, descriptor: { max_concurrency: 1_000 } });
    const deaths = () => act.stage.workers.reduce((sum, worker) => sum + worker.restarts, 0);
    const loads: Load[] = [];
    // More and more, until one is full.
    for (let wave = 1; wave <= MOST_WAVES && deaths() === 0; wave += 1) {
      const load = act.load(
        {
          messages: act.scaled(200 * wave),
          overMs: 4_000,
          abilities: [ability],
          // As large as may travel inside messages: what is larger a worker never holds.
          ballast: 120_000,
          // Longer than they take to send, so that all are held at once however fast the machine is.
          workMs: { from: 4_500, to: 6_500 },
          timeoutMs: 120_000,
          waiting: 0.2,
        },
        { prefix: `wave-${wave}` },
      );
      loads.push(load);
      await load.done;
      act.say(`wave ${wave} of large ones goes through, or is given up`);
      // They are the fault: it ends with the last of them.
      const ids = load.sent.flatMap(({ reachId }) => reachId ?? []);
      await Promise.all(ids.map((id) => act.caller().ended(id, 120_000)));
    }
    await act.recovered();
    await act.settle(...loads);
    act.notes.push(`the workers died ${deaths()} times, in wave ${loads.length}`);
    act.expect(deaths() > 0, 'no worker ran out of memory: the row proved nothing');
    const health = await http('GET', `${act.stage.urls[0]}/healthz`);
    act.expect(health?.status === 200, 'the gateway does not answer');
  },
};

import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { AGENT_COUNT } from './agents';
import { CONTENDERS, type Contender, type ContenderName } from './contenders';
import { BlockLog, ratiosOf, type CpuUse, type Figures } from './figures';
import { countEvents } from './history';
import { sendAll, sendPaced, type Block, type BlockContext } from './load';
import { thisMachine } from './machine';
import { nestedCost } from './nested-cost';
import type { Plan } from './plan';
import { cpuMs, residentMb } from './process-usage';
import type { Progress } from './progress';
import type { RoutingSpeed } from './routing-speed';
import type { Stage } from './stage';
import { rounded, seededRandom } from './statistics';
import { REQUEST_TEXTS } from './texts';

/** What a run works with. */
export interface RunContext {
  stage: Stage;
  plan: Plan;
  progress: Progress;
  signal: AbortSignal;
}

/** How many steps the progress of a run has. */
export function stepsOf(plan: Plan): number {
  const perRound = plan.latencyRequests + plan.throughputRequests + plan.pacedRequests;
  const nested = plan.rounds * plan.latencyRequests;
  return REQUEST_TEXTS.length + CONTENDERS.length * (plan.warmUpRequests * 2 + plan.rounds * perRound) + nested;
}

/**
 * Measures everything, in an order that is fair: memory before any load, then warm-up, then the contenders in turns
 * on the same server, so that whatever else the machine does meets all of them.
 * @param routing measured before, without engines: see {@link routingSpeed}
 * @throws WrongAnswerError for an answer that is not the right one
 */
export async function run(context: RunContext, routing: RoutingSpeed): Promise<Figures> {
  const { stage, plan, progress } = context;
  progress.phase('idle memory');
  await delay(plan.idleMs, undefined, { signal: context.signal });
  const idleMb = residentMb(stage.pids.gateway);
  progress.phase('warm-up');
  await stage.callers.warmTexts(() => progress.step());
  const contenders = stage.callers.all();
  await warmUp(context, contenders);
  const logs = await measure(context, contenders);
  const afterLoadMb = residentMb(stage.pids.gateway);
  progress.phase('a reach made for another');
  const pairs = plan.latencyRequests * plan.rounds;
  const nested_vs_reach = await nestedCost(stage.callers, {
    pairs,
    signal: context.signal,
    onAnswer: () => progress.step(),
  });
  const history = await histories(stage, contenders);
  const { plain, reach, regular } = {
    plain: logs.plain.figures(),
    reach: logs.reach.figures(),
    regular: logs.regular.figures(),
  };
  return {
    measured_at: new Date().toISOString(),
    machine: thisMachine(),
    plan,
    agents: AGENT_COUNT,
    embeddings: stage.embeddings,
    reach_vs_plain: ratiosOf(reach, plain),
    regular_vs_plain: ratiosOf(regular, plain),
    nested_vs_reach,
    routing,
    memory: { idle_mb: megabytes(idleMb), after_load_mb: megabytes(afterLoadMb) },
    history,
    plain,
    reach,
    regular,
  };
}

/**
 * How fast a decision is, by a process of its own and before any engine runs: it takes less than a millisecond, and one that
 * waits for a processor would tell of the neighbours.
 */
export async function routingSpeed(signal: AbortSignal): Promise<RoutingSpeed> {
  const script = resolve(__dirname, 'routing/main.js');
  const { stdout } = await promisify(execFile)(process.execPath, [script, '--speed', '--json'], {
    signal,
    maxBuffer: 1e6,
  });
  return JSON.parse(stdout) as RoutingSpeed;
}

/** Both kinds of load, so that connections, caches and compiled code are what they will be. */
async function warmUp({ plan, progress, signal }: RunContext, contenders: Contender[]): Promise<void> {
  const block = { signal, onAnswer: () => progress.step() };
  for (const concurrency of [1, plan.concurrency]) {
    for (const contender of contenders) {
      await sendAll(contender, { requests: plan.warmUpRequests, concurrency }, block);
    }
  }
}

async function measure(context: RunContext, contenders: Contender[]): Promise<Record<ContenderName, BlockLog>> {
  const { plan, progress, signal } = context;
  const logs = { plain: new BlockLog(), reach: new BlockLog(), regular: new BlockLog() };
  const block: BlockContext = { signal, onAnswer: () => progress.step() };
  for (let round = 1; round <= plan.rounds; round += 1) {
    const inTurn = round % 2 === 1 ? contenders : [...contenders].reverse();
    for (const contender of inTurn) {
      progress.phase(`round ${round} of ${plan.rounds}, one at a time: ${contender.name}`);
      const options = { requests: plan.latencyRequests, concurrency: 1 };
      const { result, cpu } = await metered(context, contender, () => sendAll(contender, options, block));
      logs[contender.name].latency.push(result);
      logs[contender.name].cpu.latency.push(cpu);
    }
    for (const contender of inTurn) {
      progress.phase(`round ${round} of ${plan.rounds}, ${plan.concurrency} at a time: ${contender.name}`);
      const options = { requests: plan.throughputRequests, concurrency: plan.concurrency };
      const { result, cpu } = await metered(context, contender, () => sendAll(contender, options, block));
      logs[contender.name].throughput.push(result);
      logs[contender.name].cpu.throughput.push(cpu);
    }
    for (const contender of inTurn) {
      progress.phase(`round ${round} of ${plan.rounds}, paced: ${contender.name}`);
      const options = { requests: plan.pacedRequests, thinkMs: plan.thinkMs, random: seededRandom(plan.seed + round) };
      logs[contender.name].paced.push(await sendPaced(contender, options, block));
    }
  }
  return logs;
}

/** Runs a block and reads what CPU time the processes of this contender used meanwhile. */
async function metered(
  { stage: { pids } }: RunContext,
  { name }: Contender,
  send: () => Promise<Block>,
): Promise<{ result: Block; cpu: CpuUse }> {
  const read = () => [cpuMs(process.pid), cpuMs(name === 'plain' ? pids.plain : pids.gateway), cpuMs(pids.server)];
  const before = read();
  const result = await send();
  const [driver, worker, server] = read().map((after, part) => {
    const start = before[part];
    return after === null || start === null || start === undefined ? null : after - start;
  });
  const known = typeof driver === 'number' && typeof worker === 'number' && typeof server === 'number';
  return { result, cpu: known ? { driver, worker, server } : null };
}

async function histories({ callers, client }: Stage, contenders: Contender[]): Promise<Figures['history']> {
  const history = { receipt: await countEvents(client, await callers.callForReceipt()) } as Figures['history'];
  for (const { name, call } of contenders) history[name] = await countEvents(client, await call());
  return history;
}

function megabytes(value: number | null): number | null {
  return value === null ? null : rounded(value, 0);
}

import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { Contender } from './contenders';

/** What a block of requests shares with the rest of the run. */
export interface BlockContext {
  signal: AbortSignal;
  /** Called after each answer that was right. */
  onAnswer: () => void;
}

/** One block of requests to one contender, all answered rightly. */
export interface Block {
  latenciesMs: number[];
  elapsedMs: number;
}

/**
 * Sends `requests`, never more than `concurrency` at a time, each as soon as an earlier one is answered (a closed
 * loop). @throws whatever the first wrong answer or failed request threw
 */
export async function sendAll(
  contender: Contender,
  { requests, concurrency }: { requests: number; concurrency: number },
  context: BlockContext,
): Promise<Block> {
  const latenciesMs: number[] = [];
  let sent = 0;
  let failed = false;
  const caller = async () => {
    while (sent < requests && !failed) {
      context.signal.throwIfAborted();
      sent += 1;
      latenciesMs.push(await timed(contender));
      context.onAnswer();
    }
  };
  const startedMs = performance.now();
  const callers = Array.from({ length: concurrency }, () =>
    caller().catch((error: unknown) => {
      failed = true;
      throw error;
    }),
  );
  const ends = await Promise.allSettled(callers);
  const elapsedMs = performance.now() - startedMs;
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  return { latenciesMs, elapsedMs };
}

/** Sends `requests` one after the other with a random think time before each, as a person or a slow upstream would. */
export async function sendPaced(
  contender: Contender,
  options: { requests: number; thinkMs: { from: number; to: number }; random: () => number },
  context: BlockContext,
): Promise<Block> {
  const { requests, thinkMs, random } = options;
  const latenciesMs: number[] = [];
  const startedMs = performance.now();
  for (let sent = 0; sent < requests; sent += 1) {
    await delay(thinkMs.from + random() * (thinkMs.to - thinkMs.from), undefined, { signal: context.signal });
    latenciesMs.push(await timed(contender));
    context.onAnswer();
  }
  return { latenciesMs, elapsedMs: performance.now() - startedMs };
}

async function timed(contender: Contender): Promise<number> {
  const startedMs = performance.now();
  await contender.call();
  return performance.now() - startedMs;
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { DeliverySemantics } from '../../../src/protocol/shapes';
import type { Step } from './agent-script';
import { type Caller, type Message, type Sent } from './caller';
import type { Random } from './random';
import { inParallel } from './waiting';

/** What is sent, and how it is spread. */
export interface LoadSpec {
  messages: number;
  /** Messages begin evenly spread over this time, whether earlier ones are answered or not. */
  overMs: number;
  abilities: readonly string[];
  semantics?: readonly DeliverySemantics[];
  /** Steps that fail first, drawn for a share of the messages. */
  failures?: { share: number; steps: readonly Step[] };
  workMs?: { from: number; to: number };
  timeoutMs?: number;
  /** Share of the messages that are sent twice, the second a moment later under the same key. */
  repeats?: number;
  /** Share of the messages for whose end the caller waits. */
  waiting?: number;
  mode?: 'async';
  /** Characters of ballast in each payload. */
  ballast?: number;
}

/** A load under way. */
export interface Load {
  /** All messages that are to be sent; a repeat is one of its own. */
  planned: number;
  sent: Sent[];
  /** Resolves when every message was accepted, refused or given up. */
  done: Promise<void>;
}

/** How many reaches are long-polled at a time. */
const FOLLOWED_AT_ONCE = 40;

/** Draws all messages beforehand, so that a seed reproduces them whatever the processes do. */
export function draw(spec: LoadSpec, random: Random, prefix: string): { atMs: number; message: Message }[] {
  const { messages, overMs, abilities, semantics = ['at_least_once'], failures, repeats = 0, waiting = 0.5 } = spec;
  const { from, to } = spec.workMs ?? { from: 10, to: 80 };
  return Array.from({ length: messages }, (_, index) => {
    const atMs = (index * overMs) / messages;
    const fails = failures !== undefined && random.chance(failures.share);
    const message: Message = {
      key: `${prefix}-${index}`,
      ability: random.pick(abilities),
      semantics: random.pick(semantics),
      timeoutMs: spec.timeoutMs ?? 60_000,
      ...(spec.mode && { mode: spec.mode }),
      waitSec: random.chance(waiting) ? 20 : null,
      script: {
        plan: fails ? Array.from({ length: random.between(1, 2) }, () => random.pick(failures.steps)) : [],
        work_ms: random.between(from, to),
        tag: `${prefix}-${index}`,
        ...(spec.ballast !== undefined && { ballast: 'x'.repeat(spec.ballast) }),
      },
    };
    const again = random.chance(repeats) ? [{ atMs: atMs + random.between(0, 300), message }] : [];
    return [{ atMs, message }, ...again];
  }).flat();
}

/** Begins to send. */
export function startLoad(plan: readonly { atMs: number; message: Message }[], caller: Caller): Load {
  const sent: Sent[] = [];
  const ordered = [...plan].sort((a, b) => a.atMs - b.atMs);
  const startedMs = performance.now();
  const run = async () => {
    const sending: Promise<unknown>[] = [];
    for (const { atMs, message } of ordered) {
      const waitMs = startedMs + atMs - performance.now();
      if (waitMs > 1) await sleep(waitMs);
      sending.push(caller.send(message).then((each) => sent.push(each)));
    }
    await Promise.all(sending);
  };
  return { planned: plan.length, sent, done: run() };
}

/** Follows every reach that a caller knows of to its end. */
export async function follow(load: Load, caller: Caller, limitMs: number) {
  const ids = [...new Set(load.sent.flatMap(({ reachId }) => reachId ?? []))];
  const ends = await inParallel(ids, FOLLOWED_AT_ONCE, (id) => caller.ended(id, limitMs));
  return ends.flatMap((end) => end ?? []);
}

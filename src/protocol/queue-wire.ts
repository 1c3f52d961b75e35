/**
 * What passes between the platform and an agent that takes its calls from a queue on Redis Streams (R37): names, the entry of
 * a call, and the replies. The steps that must happen as one are scripts, in `queue-wire-scripts`; docs/queue-agents.md tells it all
 * for agents in other languages.
 *
 * **A call lives as long as its key.** Publishing writes an entry to the queue's stream and a key `QUEUE:call:ID` that
 * expires with the attempt's time, on Redis's own clock. The key says `waiting`, or `taken:CONSUMER`. Where it is gone, nobody
 * waits any more: the time is over, the reach was cancelled or withdrawn, or it was answered. So neither side's clock matters,
 * and whoever takes, renews or answers a call learns in the same step whether it is still wanted.
 */
import type { AgentCall, JsonObject } from './shapes';

/** The one consumer group of every queue. */
export const QUEUE_GROUP = 'agent-reach';
/** A holder that does not renew its claim for so long is taken for dead, unless the descriptor's `ack_timeout_ms` says otherwise, ms. */
export const DEFAULT_CLAIM_MS = 2_000;
/** A message that was given out so often without being answered is given up: it takes its agents down. */
export const MAX_DELIVERIES = 3;
/** Nobody reads the replies of a process that is gone: its stream goes so long after the last one, ms. */
export const REPLIES_KEPT_MS = 600_000;
/** No call may take longer, so older entries are leftovers, ms. */
export const LONGEST_CALL_MS = 86_400_000;

/** The key that lives as long as a call is wanted. */
export function callKey(queue: string, id: string): string {
  return `${queue}:call:${id}`;
}

/** The stream of replies to one process of the platform. */
export function repliesKey(process: string): string {
  return `agent-reach.replies.${process}`;
}

/** One call as its entry has it. */
export interface QueueMessage {
  /** Names this attempt in replies; not to be guessed, so that nobody answers calls that he was not given. */
  id: string;
  /** The stream that replies go to. */
  replyTo: string;
  /** Acknowledged before the work begins, so that it is never given out twice: `at_most_once`, or not idempotent (R4). */
  once: boolean;
  /** W3C trace context of the attempt. */
  traceparent: string;
  /** Names the call to the gateway: nested reaches, late results. */
  reachToken: string;
  /** What an HTTP agent is sent. A large payload is absent: `GET /v1/payloads/{payload_ref}` has it. */
  call: Omit<AgentCall, 'payload'> & { payload?: JsonObject };
}

/** What an agent says of a call. `taken` comes first and may come again from another instance; any other ends it. */
export type QueueReply = { id: string; instance: string; receivedAt: string } & (
  | { type: 'taken' }
  /** JSON in UTF-8, unread. */
  | { type: 'answer'; output: Buffer }
  /** A large answer, uploaded to the gateway. */
  | { type: 'uploaded'; outputRef: string }
  /** The result comes later, `POST /v1/reaches/{id}/result`. */
  | { type: 'accepted' }
  | { type: 'failed'; code: string; message: string; retryAfterMs?: number }
);

/** A reply as an agent makes it. */
export type QueueVerdict =
  | { type: 'answer'; output: string }
  | { type: 'uploaded'; outputRef: string }
  | { type: 'accepted' }
  | { type: 'failed'; code: string; message: string; retryAfterMs?: number };

/** The fields of a message's entry, as arguments of the script that publishes it. */
export function messageFields({ id, replyTo, once, traceparent, reachToken, call }: QueueMessage): string[] {
  return [
    ...['v', '1', 'id', id, 'reply_to', replyTo, 'once', once ? '1' : '0'],
    ...['traceparent', traceparent, 'reach_token', reachToken, 'call', JSON.stringify(call)],
  ];
}

/** True for a message of a version that this release does not speak: it is left to who does. */
export function isOfOtherVersion(fields: readonly string[]): boolean {
  const { v } = asRecord(fields);
  return v !== undefined && v !== '1';
}

/** Reads an entry; null for one that is no call of this protocol, which nobody can answer. */
export function readMessage(fields: readonly string[]): QueueMessage | null {
  const { id, reply_to: replyTo, once, traceparent = '', reach_token: reachToken = '', call, v } = asRecord(fields);
  if (v !== '1' || !id || !replyTo || call === undefined) return null;
  const parsed = parseObject(call);
  if (parsed === null) return null;
  return { id, replyTo, once: once === '1', traceparent, reachToken, call: parsed as unknown as QueueMessage['call'] };
}

/** The fields of a reply's entry. */
export function replyFields(
  { id, instance, receivedAt }: { id: string; instance: string; receivedAt: string },
  verdict: QueueVerdict | { type: 'taken' },
): string[] {
  const common = ['id', id, 'instance', instance, 'received_at', receivedAt, 'type', verdict.type];
  switch (verdict.type) {
    case 'taken':
    case 'accepted':
      return common;
    case 'answer':
      return [...common, 'output', verdict.output];
    case 'uploaded':
      return [...common, 'output_ref', verdict.outputRef];
    case 'failed': {
      const { code, message, retryAfterMs } = verdict;
      const wait = retryAfterMs === undefined ? [] : ['retry_after_ms', String(Math.ceil(retryAfterMs))];
      return [...common, 'code', code, 'message', message, ...wait];
    }
  }
}

/** Reads a reply; null for an entry that names no call, `malformed` for one that names a call and says nothing of use. */
export function readReply(fields: readonly Buffer[]): QueueReply | { id: string; type: 'malformed' } | null {
  const byName = new Map<string, Buffer>();
  for (let at = 0; at + 1 < fields.length; at += 2) byName.set(String(fields[at]), fields[at + 1]!);
  const text = (name: string) => byName.get(name)?.toString('utf8');
  const id = text('id');
  if (!id) return null;
  const from = { id, instance: text('instance') ?? '', receivedAt: text('received_at') ?? '' };
  const output = byName.get('output');
  const outputRef = text('output_ref');
  const type = text('type');
  if (type === 'taken' || type === 'accepted') return { ...from, type };
  if (type === 'answer' && output) return { ...from, type, output };
  if (type === 'uploaded' && outputRef) return { ...from, type, outputRef };
  if (type !== 'failed') return { id, type: 'malformed' };
  const retryAfterMs = readWaitMs(text('retry_after_ms'));
  return {
    ...from,
    type,
    code: text('code') ?? '',
    message: text('message') ?? '',
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
}

/** A Redis client's error as it may be logged: it carries the command with its arguments, passwords and payloads among them. */
export function loggable(caught: unknown): unknown {
  if (!(caught instanceof Error)) return caught;
  const { code } = caught as { code?: unknown };
  return Object.assign(new Error(caught.message), { name: caught.name, ...(code !== undefined && { code }) });
}

const LONGEST_WAIT_MS = 604_800_000;

/** As `Retry-After`: what is no number, negative or beyond a week is ignored. */
function readWaitMs(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{1,9}$/.test(text)) return undefined;
  return Number(text) <= LONGEST_WAIT_MS ? Number(text) : undefined;
}

function asRecord(fields: readonly string[]): Partial<Record<string, string>> {
  const pairs: [string, string][] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) pairs.push([fields[at]!, fields[at + 1]!]);
  return Object.fromEntries(pairs);
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return value !== null && typeof value === 'object' && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

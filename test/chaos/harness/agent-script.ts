/** What the harness and its agents' process say to each other. Types and plain functions only. */
import { createHash } from 'node:crypto';

/** How an agent deals with one attempt. */
export type Step =
  | 'ok'
  /** 500 */
  | 'error'
  /** 503 */
  | 'unavailable'
  /** 503, to come again after a second: whoever does waits asleep meanwhile. */
  | 'later'
  /** 429 */
  | 'busy'
  /** 422 */
  | 'reject'
  /** Reads the request and never answers. */
  | 'hang'
  /** Headers, then a byte now and then, for ever. */
  | 'drip'
  /** Does the work and resets the connection in the middle of the answer. */
  | 'reset'
  /** Answers far more than is allowed. */
  | 'flood'
  /** 202: accepts, and delivers the result when it is told to. */
  | 'hold';

/** The payload of every reach that the harness sends: the agent reads its script from it. */
export interface Script {
  /** By attempt; after the last one it answers `ok`. */
  plan: Step[];
  /** What the work takes, ms. */
  work_ms: number;
  /** Tells one payload from another. */
  tag: string;
  /** Ballast, characters. */
  ballast?: string;
}

/**
 * Tells one payload from another, whoever holds it: its tag for people, and a digest of all of it, in whatever order its
 * members came. What is no script, such as a payload that was lost on its way, has a mark as well, and another one.
 */
export function markOf(payload: unknown): string {
  const members = Object.entries((payload ?? {}) as Partial<Script>)
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const { tag = 'untagged' } = (payload ?? {}) as Partial<Script>;
  return `${tag}#${createHash('sha256').update(JSON.stringify(members)).digest('hex').slice(0, 12)}`;
}

/** Overrides every script of an agent: `script` takes it back. */
export type Mode = 'script' | Step;

/** To the agents' process: behave so from now on, or deliver every result that is held, to this gateway, so many times at once. */
export type Command = { agent: string; mode: Mode } | { agent: string; release: string; copies: number };

/** From the agents' process: it listens, or an agent has received a request (and has written it down). */
export type Report =
  | { kind: 'listening'; url: string }
  | { kind: 'got'; agent: string; reach_id: string; attempt: number }
  /** The work is done (and written down), its answer is not sent yet; only agents that take from a queue say so. */
  | { kind: 'worked'; agent: string; reach_id: string; attempt: number };

/** One line of a journal. `at` is wall-clock time of a monotonic clock, ms. */
export type Line =
  | {
      e: 'in';
      id: string;
      agent: string;
      reach_id: string;
      key: string;
      /** {@link markOf} the payload; what has no such line is not judged by it. */
      tag?: string;
      attempt: number;
      fence: string;
      bypass: boolean;
      /** It came by a queue, which gives a message to somebody else when nobody acknowledges it. */
      queued?: true;
      at: number;
    }
  /** The work is done; written before the answer is sent. */
  | { e: 'work'; id: string; output_id: string }
  | { e: 'out'; id: string; answer: string; at: number };

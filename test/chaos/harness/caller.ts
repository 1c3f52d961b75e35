import { setTimeout as sleep } from 'node:timers/promises';
import type { DeliverySemantics, ReachStatus } from '../../../src/protocol/shapes';
import type { Receipt, Sighting } from '../checker/facts';
import { markOf, type Script } from './agent-script';
import { exchange, http, type Exchange, type HttpAnswer, type Silence } from './http';

/** One message as a caller sends it, again and again under the same key until it is accepted. */
export interface Message {
  key: string;
  ability: string;
  semantics: DeliverySemantics;
  timeoutMs: number;
  script: Script;
  /** `async`: waits for an agent to be ready where none is. Default: the API's. */
  mode?: 'async';
  /** Seconds to wait for the end; null asks for the receipt only. */
  waitSec: number | null;
}

/** What came of sending a message. */
export interface Sent {
  message: Message;
  reachId: string | null;
  receipt: Receipt | null;
  sighting: Sighting | null;
  /** Why it was not accepted, where it was not. */
  refusal: { status: number; code: string } | null;
  /** How often it was sent. */
  tries: number;
  /** Every answer that neither accepted nor refused for good, as `STATUS code`, or `no answer (ECONNREFUSED)`. */
  setbacks: string[];
  /** Some try may have been accepted without saying so, so that a later one may be told that it is a repeat. */
  doubtful: boolean;
  /** Of the requests that were sent and never answered: after how long that was known, ms. */
  unansweredMs: number[];
  /** 503s that did not say when to come again. */
  rude: number;
}

const TERMINAL: ReadonlySet<string> = new Set<ReachStatus>([
  'completed',
  'dead_lettered',
  'cancelled',
  'expired',
  'outcome_unknown',
]);

/** Refusals at the door, with 5xx: nothing was begun. Any other 5xx leaves it open. */
const REFUSED_AT_THE_DOOR: ReadonlySet<string> = new Set([
  'overloaded',
  'circuit_open',
  'degraded_mode',
  'no_ready_instance',
  'all_instances_unavailable',
  'storage_full',
]);

/** A caller in front of several gateways: a good citizen that retries with the same key, elsewhere, after a pause. */
export class Caller {
  private turn = 0;

  constructor(
    private readonly urls: readonly string[],
    private readonly patienceMs = 45_000,
    /** Is told of every answer that is a defect of the platform, whatever was asked. */
    private readonly onDefect: (what: string) => void = () => undefined,
  ) {}

  /** Sends until there is a 2xx, a final refusal, or patience ends. */
  async send(message: Message): Promise<Sent> {
    const sent: Sent = {
      message,
      reachId: null,
      receipt: null,
      sighting: null,
      refusal: null,
      tries: 0,
      setbacks: [],
      doubtful: false,
      unansweredMs: [],
      rude: 0,
    };
    const endsMs = performance.now() + this.patienceMs;
    do {
      sent.tries += 1;
      const { answer, silence } = await this.post(message);
      this.report('POST', answer);
      if (answer ? this.settle(sent, answer) : this.unanswered(sent, silence)) return sent;
      const pauseMs = Math.min(1_000, Number(answer?.body?.retry_after_ms ?? 300));
      await sleep(pauseMs);
    } while (performance.now() < endsMs);
    sent.refusal = { status: 0, code: 'gave_up' };
    return sent;
  }

  /** Long-polls until a reach has ended; null when it had not in time. */
  async ended(reachId: string, limitMs: number): Promise<Sighting | null> {
    const endsMs = performance.now() + limitMs;
    while (performance.now() < endsMs) {
      const answer = await http('GET', `${this.nextUrl()}/v1/reaches/${reachId}?wait=10`, { limitMs: 15_000 });
      this.report('GET', answer);
      const status = answer?.status === 200 ? (answer.body?.status as string) : null;
      if (status && TERMINAL.has(status)) return sightingOf(reachId, 'get', answer!);
      if (status === null) await sleep(300);
    }
    return null;
  }

  /** Leaves out a gateway, so that the next request goes to the one after it. */
  skip(): void {
    this.turn += 1;
  }

  private post({ key, ability, semantics, timeoutMs, script, waitSec, mode }: Message): Promise<Exchange> {
    return exchange('POST', `${this.nextUrl()}/v1/reaches`, {
      headers: { 'idempotency-key': key, prefer: waitSec === null ? 'respond-async' : `wait=${waitSec}` },
      body: { ability, payload: script, delivery_semantics: semantics, timeout_ms: timeoutMs, ...(mode && { mode }) },
    });
  }

  private nextUrl(): string {
    this.turn += 1;
    return this.urls[this.turn % this.urls.length]!;
  }

  /** Notes an answer; true when it is the last word. */
  private settle(sent: Sent, answer: HttpAnswer): boolean {
    const { status, body } = answer;
    const reachId = (body?.reach_id ?? null) as string | null;
    if (status < 300 && reachId) return this.accepted(sent, reachId, answer);
    const code = String(body?.code ?? 'none');
    if (reachId && TERMINAL.has(String(body?.reach_status))) return this.accepted(sent, reachId, answer);
    if (status === 503 && body?.retry_after_ms === undefined && !answer.headers.has('retry-after')) sent.rude += 1;
    if (status >= 500 && !REFUSED_AT_THE_DOOR.has(code)) sent.doubtful = true;
    if (status === 429 || status >= 500) return this.setback(sent, `${status} ${code}`);
    sent.refusal = { status, code };
    return true;
  }

  private unanswered(sent: Sent, { code, sent: wasSent, afterMs }: Silence): false {
    if (wasSent) {
      sent.doubtful = true;
      sent.unansweredMs.push(afterMs);
    }
    return this.setback(sent, `no answer (${code})`);
  }

  private report(method: string, answer: HttpAnswer | null): void {
    const code = String(answer?.body?.code ?? 'none');
    if (answer && (answer.status === 500 || code === 'internal')) {
      this.onDefect(`${method} answered ${answer.status} ${code}: ${String(answer.body?.detail ?? '')}`.slice(0, 300));
    }
  }

  private setback(sent: Sent, what: string): false {
    sent.setbacks.push(what);
    return false;
  }

  private accepted(sent: Sent, reachId: string, answer: HttpAnswer): true {
    const { key, script } = sent.message;
    const { status, body } = answer;
    const reachStatus = statusIn(answer);
    sent.reachId = reachId;
    sent.receipt = {
      reach_id: reachId,
      key,
      tag: markOf(script),
      status,
      reach_status: reachStatus,
      replayed: body.replayed === true,
    };
    if (TERMINAL.has(reachStatus)) sent.sighting = sightingOf(reachId, 'post', answer);
    return true;
  }
}

/** A problem tells the reach's status beside its own. */
function statusIn({ body }: HttpAnswer): ReachStatus {
  return (body.reach_status ?? body.status) as ReachStatus;
}

/** What an answer tells of the end of a reach. */
function sightingOf(reachId: string, channel: 'post' | 'get', answer: HttpAnswer): Sighting {
  const { body } = answer;
  return {
    reach_id: reachId,
    channel,
    status: statusIn(answer),
    output_id: (body.output?.output_id ?? null) as string | null,
    degraded: typeof body.degraded === 'boolean' ? body.degraded : null,
    settled: channel === 'get',
  };
}

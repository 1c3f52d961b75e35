import { setTimeout as sleep } from 'node:timers/promises';
import type { DeliverySemantics, ReachStatus } from '../../../src/protocol/shapes';
import type { Receipt, Sighting } from '../checker/facts';
import type { Script } from './agent-script';
import { http, type HttpAnswer } from './http';

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
  /** Every answer that neither accepted nor refused for good, as `STATUS code`. */
  setbacks: string[];
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

/** A caller in front of several gateways: a good citizen that retries with the same key, elsewhere, after a pause. */
export class Caller {
  private turn = 0;

  constructor(
    private readonly urls: readonly string[],
    private readonly patienceMs = 45_000,
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
      rude: 0,
    };
    const endsMs = performance.now() + this.patienceMs;
    do {
      sent.tries += 1;
      const answer = await this.post(message);
      if (this.settle(sent, answer)) return sent;
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

  private post({ key, ability, semantics, timeoutMs, script, waitSec, mode }: Message): Promise<HttpAnswer | null> {
    return http('POST', `${this.nextUrl()}/v1/reaches`, {
      headers: { 'idempotency-key': key, prefer: waitSec === null ? 'respond-async' : `wait=${waitSec}` },
      body: { ability, payload: script, delivery_semantics: semantics, timeout_ms: timeoutMs, ...(mode && { mode }) },
    });
  }

  private nextUrl(): string {
    this.turn += 1;
    return this.urls[this.turn % this.urls.length]!;
  }

  /** Notes an answer; true when it is the last word. */
  private settle(sent: Sent, answer: HttpAnswer | null): boolean {
    if (!answer) return this.setback(sent, 'no answer');
    const { status, body } = answer;
    const reachId = (body?.reach_id ?? null) as string | null;
    if (status < 300 && reachId) return this.accepted(sent, reachId, answer);
    const code = String(body?.code ?? 'none');
    if (reachId && TERMINAL.has(String(body?.reach_status))) {
      sent.reachId = reachId;
      sent.sighting = sightingOf(reachId, 'post', answer);
      return true;
    }
    if (status === 503 && body?.retry_after_ms === undefined && !answer.headers.has('retry-after')) sent.rude += 1;
    if (status === 429 || status >= 500) return this.setback(sent, `${status} ${code}`);
    sent.refusal = { status, code };
    return true;
  }

  private setback(sent: Sent, what: string): false {
    sent.setbacks.push(what);
    return false;
  }

  private accepted(sent: Sent, reachId: string, answer: HttpAnswer): true {
    const { status, body } = answer;
    sent.reachId = reachId;
    sent.receipt = {
      reach_id: reachId,
      key: sent.message.key,
      status,
      reach_status: body.status as ReachStatus,
      replayed: body.replayed === true,
    };
    if (TERMINAL.has(body.status as string)) sent.sighting = sightingOf(reachId, 'post', answer);
    return true;
  }
}

/** What an answer tells of the end of a reach. */
function sightingOf(reachId: string, channel: 'post' | 'get', { body }: HttpAnswer): Sighting {
  return {
    reach_id: reachId,
    channel,
    status: (body.reach_status ?? body.status) as ReachStatus,
    output_id: (body.output?.output_id ?? null) as string | null,
    settled: channel === 'get',
  };
}

/** One business key, sent by different senders under different addresses: each address is a reach of its own, the work is one. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ReachStatus } from '../../../src/protocol/shapes';
import { markOf } from './agent-script';
import type { Message, Sent } from './caller';
import { http, type HttpAnswer } from './http';

/** Who sends, and how the agent is named. */
export interface Address {
  source_agent: string;
  ability?: string;
  target_agent?: string;
}

/** For how long a sender comes again, ms. */
const PATIENCE_MS = 45_000;
/** Between two tries, unless the platform says when to come again, ms. */
const PAUSE_MS = 700;
const MAX_PAUSE_MS = 2_000;

/** Sends until a reach is named, elsewhere after each refusal; a final refusal is noted. The first is asked first. */
export async function sendAs(gateways: readonly string[], message: Message, address: Address): Promise<Sent> {
  const nothing = { reachId: null, receipt: null, sighting: null, refusal: null };
  const sent: Sent = { message, ...nothing, tries: 0, setbacks: [], doubtful: false, unansweredMs: [], rude: 0 };
  const endsMs = performance.now() + PATIENCE_MS;
  while (performance.now() < endsMs) {
    const gateway = gateways[sent.tries % gateways.length]!;
    sent.tries += 1;
    const answer = await post(gateway, message, address);
    if (answer && isAccepted(sent, answer)) return sent;
    if (answer && answer.status < 500 && answer.status !== 429) {
      sent.refusal = { status: answer.status, code: String(answer.body?.code) };
      return sent;
    }
    sent.doubtful = true;
    sent.setbacks.push(answer ? `${answer.status} ${String(answer.body?.code)}` : 'no answer');
    await sleep(Math.min(MAX_PAUSE_MS, Number(answer?.body?.retry_after_ms ?? PAUSE_MS)));
  }
  sent.refusal = { status: 0, code: 'gave_up' };
  return sent;
}

function post(gateway: string, message: Message, address: Address): Promise<HttpAnswer | null> {
  const { key, semantics, timeoutMs, script, waitSec, mode } = message;
  return http('POST', `${gateway}/v1/reaches`, {
    headers: { 'idempotency-key': key, prefer: waitSec === null ? 'respond-async' : `wait=${waitSec}` },
    body: { ...address, payload: script, delivery_semantics: semantics, timeout_ms: timeoutMs, ...(mode && { mode }) },
  });
}

function isAccepted(sent: Sent, { status, body }: HttpAnswer): boolean {
  const reachId = (body?.reach_id ?? null) as string | null;
  if (reachId === null || (status >= 300 && body.reach_status === undefined)) return false;
  const { key, script } = sent.message;
  const reach_status = (body.reach_status ?? body.status) as ReachStatus;
  const receipt = { reach_id: reachId, key, tag: markOf(script), status, reach_status };
  Object.assign(sent, { reachId, receipt: { ...receipt, replayed: body.replayed === true } });
  return true;
}

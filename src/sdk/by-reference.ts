/** What is too large to travel inside a message, on the agent's side (R8): payloads are fetched, answers uploaded. */
import { v7 as uuidv7 } from 'uuid';
import { ReachError } from '../protocol/reach-error';
import type { JsonObject } from '../protocol/shapes';
import type { LargePayloads } from './large-payloads';

/** The gateway's side of it. */
export type PayloadStore = Pick<LargePayloads, 'upload' | 'fetch'>;

/** The call with a large payload fetched into it. @throws ReachError `agent_unavailable`: somebody else may have more luck */
export async function withPayload<Call extends { payload?: JsonObject; payload_ref?: string }>(
  call: Call,
  payloads: PayloadStore,
  signal: AbortSignal,
): Promise<Omit<Call, 'payload_ref'>> {
  const { payload_ref: ref, ...rest } = call;
  if (ref === undefined) return call;
  try {
    return { ...rest, payload: await payloads.fetch(ref, signal) };
  } catch (cause) {
    signal.throwIfAborted();
    throw new ReachError('agent_unavailable', `The payload could not be fetched: ${ReachError.from(cause).message}`, {
      cause,
    });
  }
}

/** Uploads an answer and returns its reference. @throws ReachError `agent_response_too_large`, `agent_unavailable` */
export async function uploaded(content: Buffer, payloads: PayloadStore, signal: AbortSignal): Promise<string> {
  try {
    return await payloads.upload(content, uuidv7(), signal);
  } catch (cause) {
    signal.throwIfAborted();
    const { code, message } = ReachError.from(cause);
    const ours = code === 'payload_too_large' ? 'agent_response_too_large' : 'agent_unavailable';
    throw new ReachError(
      ours,
      `The work was done, but its answer of ${content.byteLength} bytes could not be kept: ${message}`,
      { cause },
    );
  }
}

import type { EnvelopeDraft } from '../protocol/envelope';
import type { ReachStatus, Receipt } from '../protocol/shapes';
import type { TransportOptions } from './transport';

/** Options of `AgentReachClient`. */
export interface ClientOptions extends TransportOptions {
  /** Default deadline of a sync reach, ms. Default 10,000. */
  timeoutMs?: number;
}

/** Everything an envelope may say but what `invokeAbility` says for you. */
export type InvokeOptions = Omit<EnvelopeDraft, 'ability' | 'payload' | 'mode' | 'timeout_ms'> & WaitOptions;

/** How long to wait, and what stops the waiting. */
export interface WaitOptions {
  /** Of the whole reach where it is made, else of the waiting, ms. */
  timeoutMs?: number;
  /** Stops the waiting; the reach goes on unless `cancelOnAbort` is set. */
  signal?: AbortSignal;
  /** Called when the answer is not there at once: the reach is durable and routed, its result will follow (R5). */
  onReceipt?: (receipt: Receipt) => void;
  /** Also cancels the reach when `signal` aborts once the reach has an id. Default false. */
  cancelOnAbort?: boolean;
}

/** Filter of `list`. `since` is an ISO time; `limit` is a page's size. */
export interface ListFilter {
  status?: ReachStatus;
  ability?: string;
  agent?: string;
  source?: string;
  since?: string;
  cursor?: string;
  limit?: number;
}

/** Options of a plain request. */
export interface RequestOptions {
  signal?: AbortSignal;
}

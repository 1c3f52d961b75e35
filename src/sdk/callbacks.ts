/** Callbacks as the platform delivers them: how each stands, once more, and what they are signed with. */
import type { CallbackSecret, Delivery, DeliveryRedrive } from '../protocol/callback';
import type { DeliveryState } from '../protocol/callback-target';
import { ReachError } from '../protocol/reach-error';
import type { RequestOptions } from './client-types';
import type { Transport, TransportCall } from './transport';
import type { Page } from './wire-types';

export type { CallbackSecret, Delivery, DeliveryRedrive } from '../protocol/callback';
export type { DeliveryState } from '../protocol/callback-target';

/** Most time for one request, ms. */
const REQUEST_TIMEOUT_MS = 20_000;

/** Which deliveries. */
export interface DeliveryFilter {
  state?: DeliveryState;
  reach_id?: string;
  cursor?: string;
  limit?: number;
}

/** Deliveries of the ends of reaches behind one gateway (R5). Every method throws {@link ReachError}. */
export class CallbacksClient {
  constructor(private readonly transport: Transport) {}

  /** One page, newest first; eventually consistent. A page may be short or empty while there is a `next_cursor`. */
  list(filter: DeliveryFilter = {}, options: RequestOptions = {}): Promise<Page<Delivery>> {
    return this.#call({ method: 'GET', path: '/v1/callbacks', query: { ...filter }, retry: 'always', ...options });
  }

  /** How one stands. */
  async show(id: string, options: RequestOptions = {}): Promise<Delivery> {
    return this.#call({ method: 'GET', path: pathOf(id), retry: 'always', ...options });
  }

  /** Delivers one that failed once more, on a fresh schedule; one under way or delivered is left alone. Safe to repeat. */
  async redrive(id: string, options: RequestOptions = {}): Promise<DeliveryRedrive> {
    return this.#call({ method: 'POST', path: `${pathOf(id)}:redrive`, retry: 'always', ...options });
  }

  /** What callbacks are signed with, where the platform made it itself; a configured secret is not told. */
  secret(options: RequestOptions = {}): Promise<CallbackSecret> {
    return this.#call({ method: 'GET', path: '/v1/callbacks/secret', retry: 'always', ...options });
  }

  async #call<T>(call: Omit<TransportCall, 'timeoutMs'>): Promise<T> {
    const { body } = await this.transport.request<T>({ timeoutMs: REQUEST_TIMEOUT_MS, ...call });
    return body;
  }
}

/** A path segment; an empty one would ask for the whole list instead. */
function pathOf(id: string): string {
  if (id === '') throw new ReachError('invalid_request', 'An empty id names nothing; pass the one you were given');
  return `/v1/callbacks/${encodeURIComponent(id)}`;
}

/** Callbacks as the platform delivers them: how each stands, once more, and what they are signed with. */
import type { CallbackSecret, Delivery, DeliveryRedrive } from '../protocol/callback';
import type { DeliveryState } from '../protocol/callback-target';
import type { RequestOptions } from './client-types';
import { GatewayApi, pathSegment } from './gateway-api';
import type { Transport } from './transport';
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

/** Deliveries of the ends of reaches behind one gateway (R5). Every method throws `ReachError`. */
export class CallbacksClient {
  readonly #api: GatewayApi;

  constructor(transport: Transport) {
    this.#api = new GatewayApi(transport, REQUEST_TIMEOUT_MS);
  }

  /** One page, newest first; eventually consistent. A page may be short or empty while there is a `next_cursor`. */
  list(filter: DeliveryFilter = {}, options: RequestOptions = {}): Promise<Page<Delivery>> {
    return this.#api.get('/v1/callbacks', { query: { ...filter }, ...options });
  }

  /** How one stands. */
  async show(id: string, options: RequestOptions = {}): Promise<Delivery> {
    return this.#api.get(pathOf(id), options);
  }

  /** Delivers one that failed once more, on a fresh schedule; one under way or delivered is left alone. Safe to repeat. */
  async redrive(id: string, options: RequestOptions = {}): Promise<DeliveryRedrive> {
    return this.#api.call({ method: 'POST', path: `${pathOf(id)}:redrive`, retry: 'always', ...options });
  }

  /** What callbacks are signed with, where the platform made it itself; a configured secret is not told. */
  secret(options: RequestOptions = {}): Promise<CallbackSecret> {
    return this.#api.get('/v1/callbacks/secret', options);
  }
}

const pathOf = (id: string) => `/v1/callbacks/${pathSegment(id)}`;

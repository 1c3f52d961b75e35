/** Subscriptions for programs and for the CLI: who gets the events of which topics. */
import type { Subscription, SubscriptionBody } from '../protocol/subscription';
import type { RequestOptions } from './client-types';
import { allPages, GatewayApi, pathSegment } from './gateway-api';
import type { Transport } from './transport';
import type { Page } from './wire-types';

export type { Subscription, SubscriptionBody } from '../protocol/subscription';
export type { EventFilter } from '../protocol/event-filter';

/** Most time for one request, ms. */
const REQUEST_TIMEOUT_MS = 10_000;

/** Which subscriptions are listed; `topic`: those that would get events of this topic. */
export interface SubscriptionFilter {
  topic?: string;
  agent?: string;
  ability?: string;
}

/**
 * Subscriptions behind one gateway (R3). Every method throws `ReachError`; all of them are safe to repeat, and are repeated by
 * themselves when an answer is lost.
 *
 * @example
 * ```ts
 * await reach.subscriptions.put('audit-orders', { topic: 'orders.*', agent: 'audit_agent', filter: { type: 'order.created' } });
 * ```
 */
export class SubscriptionsClient {
  readonly #api: GatewayApi;

  constructor(transport: Transport) {
    this.#api = new GatewayApi(transport, REQUEST_TIMEOUT_MS);
  }

  /** Creates a subscription, or replaces what it says. The same again changes nothing. */
  async put(id: string, body: SubscriptionBody, options: RequestOptions = {}): Promise<Subscription> {
    return this.#api.call({ method: 'PUT', path: pathOf(id), body, retry: 'always', ...options });
  }

  async get(id: string, options: RequestOptions = {}): Promise<Subscription> {
    return this.#api.get(pathOf(id), options);
  }

  /** One page, by id. */
  list(
    filter: SubscriptionFilter & { cursor?: string; limit?: number } = {},
    options: RequestOptions = {},
  ): Promise<Page<Subscription>> {
    return this.#api.get('/v1/subscriptions', { query: { ...filter }, ...options });
  }

  /** All of them, page by page. */
  all(filter: SubscriptionFilter = {}, options: RequestOptions = {}): AsyncGenerator<Subscription> {
    return allPages((at) => this.list({ ...filter, ...at }, options));
  }

  /** Ends a subscription; events that were accepted before are delivered all the same. `not_found` when there is none. */
  async delete(id: string, options: RequestOptions = {}): Promise<void> {
    await this.#api.call({ method: 'DELETE', path: pathOf(id), ...options, retry: 'unsent' });
  }
}

const pathOf = (id: string) => `/v1/subscriptions/${pathSegment(id)}`;

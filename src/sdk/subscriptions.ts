/** Subscriptions for programs and for the CLI: who gets the events of which topics. */
import { ReachError } from '../protocol/reach-error';
import type { Subscription, SubscriptionBody } from '../protocol/subscription';
import type { RequestOptions } from './client-types';
import type { Transport, TransportCall } from './transport';
import type { Page } from './wire-types';

export type { Subscription, SubscriptionBody } from '../protocol/subscription';
export type { EventFilter } from '../protocol/event-filter';

/** Most time for one request, ms. */
const REQUEST_TIMEOUT_MS = 10_000;
/** Pages that {@link SubscriptionsClient.all} asks for, items. */
const PAGE = 200;

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
  constructor(private readonly transport: Transport) {}

  /** Creates a subscription, or replaces what it says. The same again changes nothing. */
  async put(id: string, body: SubscriptionBody, options: RequestOptions = {}): Promise<Subscription> {
    return this.#call({ method: 'PUT', path: pathOf(id), body, ...options });
  }

  async get(id: string, options: RequestOptions = {}): Promise<Subscription> {
    return this.#call({ method: 'GET', path: pathOf(id), ...options });
  }

  /** One page, by id. */
  list(
    filter: SubscriptionFilter & { cursor?: string; limit?: number } = {},
    options: RequestOptions = {},
  ): Promise<Page<Subscription>> {
    return this.#call({ method: 'GET', path: '/v1/subscriptions', query: { ...filter }, ...options });
  }

  /** All of them, page by page. */
  async *all(filter: SubscriptionFilter = {}, options: RequestOptions = {}): AsyncGenerator<Subscription> {
    let cursor: string | undefined;
    do {
      const page = await this.list({ ...filter, cursor, limit: PAGE }, options);
      yield* page.items;
      cursor = page.next_cursor;
    } while (cursor !== undefined);
  }

  /** Ends a subscription; events that were accepted before are delivered all the same. `not_found` when there is none. */
  async delete(id: string, options: RequestOptions = {}): Promise<void> {
    await this.#call({ method: 'DELETE', path: pathOf(id), ...options, retry: 'unsent' });
  }

  async #call<T>(call: Omit<TransportCall, 'timeoutMs' | 'retry'> & Partial<Pick<TransportCall, 'retry'>>): Promise<T> {
    const { body } = await this.transport.request<T>({ timeoutMs: REQUEST_TIMEOUT_MS, retry: 'always', ...call });
    return body;
  }
}

/** A path segment; an empty one would ask for the whole list instead. */
function pathOf(id: string): string {
  if (id === '') throw new ReachError('invalid_request', 'An empty id names nothing; pass the one you were given');
  return `/v1/subscriptions/${encodeURIComponent(id)}`;
}

import { ReachError } from '../protocol/reach-error';
import type { Subscription, SubscriptionBody, SubscriptionQuery } from '../protocol/subscription';
import type { PutOutcome, SubscriptionStore, SubscriptionView } from '../registry';
import { whenSeen } from './view-catch-up';

/** A page of subscriptions, by id. */
export interface SubscriptionPage {
  items: Subscription[];
  next_cursor?: string;
}

/**
 * Subscriptions as the API has them. A change is answered once this gateway's own view shows it, so that who subscribes and
 * publishes in the next breath gets the event; other gateways follow within milliseconds.
 */
export class SubscriptionService {
  constructor(
    private readonly store: SubscriptionStore,
    private readonly view: SubscriptionView,
  ) {}

  /** @throws ReachError `invalid_request`; `engine_unavailable` */
  async put(id: string, body: SubscriptionBody): Promise<PutOutcome> {
    const done = await this.store.put(id, body);
    const written = JSON.stringify(done.subscription);
    await whenSeen(this.view, () => JSON.stringify(this.view.get(id)) === written);
    return done;
  }

  /** As etcd has it. @throws ReachError `not_found` */
  async get(id: string): Promise<Subscription> {
    const found = await this.store.get(id);
    if (found === null) throw unknown(id);
    return found;
  }

  /** @throws ReachError `not_found` */
  async delete(id: string): Promise<void> {
    if (!(await this.store.delete(id))) throw unknown(id);
    await whenSeen(this.view, () => this.view.get(id) === undefined);
  }

  /** From this gateway's view. @throws ReachError `invalid_request` for a cursor that is none */
  list({ topic, agent, ability, cursor, limit }: SubscriptionQuery): SubscriptionPage {
    const after = cursor === undefined ? '' : Buffer.from(cursor, 'base64url').toString('utf8');
    const all = topic === undefined ? this.view.all() : this.view.listeningTo(topic);
    const wanted = all.filter(
      (one) =>
        one.id > after &&
        (agent === undefined || one.agent?.split('#')[0] === agent || one.agent === agent) &&
        (ability === undefined || one.ability === ability),
    );
    const items = wanted.slice(0, limit);
    const last = items.at(-1);
    const more = wanted.length > limit && last !== undefined;
    return { items, ...(more && { next_cursor: Buffer.from(last.id).toString('base64url') }) };
  }
}

function unknown(id: string): ReachError {
  return new ReachError(
    'not_found',
    `There is no subscription ${JSON.stringify(id.slice(0, 64))}; GET /v1/subscriptions lists them`,
  );
}

import type { Subscription } from '../../protocol/subscription';
import type { MirrorChange } from '../mirror/prefix-mirror';
import { PrefixView, type PrefixViewOptions } from '../mirror/prefix-view';
import { SubscriptionIndex } from './subscription-index';
import { decodeSubscription } from './subscription-record';

/**
 * The subscriptions as this process sees them, so that matching an event asks nobody. Follows etcd within milliseconds;
 * while etcd is away the last known ones stand.
 */
export class SubscriptionView extends PrefixView {
  private readonly index = new SubscriptionIndex();

  constructor(options: PrefixViewOptions) {
    super(options, (keys) => keys.subscriptions);
  }

  get(id: string): Subscription | undefined {
    return this.index.get(id);
  }

  /** All, by id. */
  all(): Subscription[] {
    return this.index.all();
  }

  /** Those that listen to a topic, whatever their filters say, by id. */
  listeningTo(topic: string): Subscription[] {
    return this.index.listeningTo(topic);
  }

  /** Those that get an event with these attributes, by id. */
  matching(topic: string, attributes: Record<string, string>): Subscription[] {
    return this.index.matching(topic, attributes);
  }

  protected take(changes: MirrorChange[]): boolean {
    for (const { key, entry } of changes) {
      const [id] = this.keys.partsUnder(this.keys.subscriptions, key, 1) ?? [];
      if (id === undefined) continue;
      const subscription = entry && decodeSubscription(id, entry.value);
      if (subscription) this.index.set(subscription);
      else this.index.delete(id);
      if (entry && !subscription) this.options.logger.warn({ key }, 'skipped an unreadable record in etcd');
    }
    return true;
  }
}

import { compileFilter } from '../../protocol/event-filter';
import type { Subscription } from '../../protocol/subscription';
import { patternsOf } from '../../protocol/topics';

interface Entry {
  subscription: Subscription;
  fits: (attributes: Record<string, string>) => boolean;
}

/**
 * Who gets which events. By topic pattern, so that an event costs as many look-ups as its topic has segments, however
 * many subscriptions there are to other topics. No I/O.
 */
export class SubscriptionIndex {
  private readonly byId = new Map<string, Entry>();
  private readonly byPattern = new Map<string, Map<string, Entry>>();

  set(subscription: Subscription): void {
    this.delete(subscription.id);
    const entry = { subscription, fits: compileFilter(subscription.filter) };
    this.byId.set(subscription.id, entry);
    const same = this.byPattern.get(subscription.topic) ?? new Map<string, Entry>();
    this.byPattern.set(subscription.topic, same.set(subscription.id, entry));
  }

  delete(id: string): void {
    const known = this.byId.get(id);
    if (known === undefined) return;
    this.byId.delete(id);
    const same = this.byPattern.get(known.subscription.topic);
    same?.delete(id);
    if (same?.size === 0) this.byPattern.delete(known.subscription.topic);
  }

  get(id: string): Subscription | undefined {
    return this.byId.get(id)?.subscription;
  }

  /** All, by id. */
  all(): Subscription[] {
    return [...this.byId.values()].map(({ subscription }) => subscription).sort(byId);
  }

  /** Those that listen to a topic, whatever their filters say, by id. */
  listeningTo(topic: string): Subscription[] {
    return this.onTopic(topic)
      .map(({ subscription }) => subscription)
      .sort(byId);
  }

  /** Those that get an event with these attributes, by id. */
  matching(topic: string, attributes: Record<string, string>): Subscription[] {
    return this.onTopic(topic)
      .filter(({ fits }) => fits(attributes))
      .map(({ subscription }) => subscription)
      .sort(byId);
  }

  private onTopic(topic: string): Entry[] {
    return patternsOf(topic).flatMap((pattern) => [...(this.byPattern.get(pattern)?.values() ?? [])]);
  }
}

const byId = (a: Subscription, b: Subscription) => (a.id < b.id ? -1 : 1);

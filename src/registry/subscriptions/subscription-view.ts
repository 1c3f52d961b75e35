import type { Subscription } from '../../protocol/subscription';
import { systemClock } from '../clock';
import { Keyspace } from '../keys';
import { PrefixMirror, type MirrorChange } from '../mirror/prefix-mirror';
import { DEFAULT_KEY_PREFIX, type RegistryOptions } from '../registry';
import { SubscriptionIndex } from './subscription-index';
import { decodeSubscription } from './subscription-record';

export interface SubscriptionViewOptions extends RegistryOptions {
  /** `registry.refresh_interval`: how often the view is compared with etcd, ms. */
  refreshIntervalMs: number;
}

/**
 * The subscriptions as this process sees them, so that matching an event asks nobody. Follows etcd within milliseconds;
 * while etcd is away the last known ones stand.
 */
export class SubscriptionView {
  private readonly index = new SubscriptionIndex();
  private readonly keys: Keyspace;
  private readonly mirror: PrefixMirror;
  private readonly listeners = new Set<() => void>();

  constructor(private readonly options: SubscriptionViewOptions) {
    const { etcd, keyPrefix = DEFAULT_KEY_PREFIX, tenant, logger, clock = systemClock, refreshIntervalMs } = options;
    this.keys = new Keyspace(keyPrefix, tenant);
    this.mirror = new PrefixMirror({
      etcd,
      prefix: this.keys.subscriptions,
      refreshIntervalMs,
      logger,
      clock,
      onChanges: (changes) => this.take(changes),
    });
  }

  /** Reads them all and follows them from then on. @throws ReachError `engine_unavailable`; may be called again */
  start(): Promise<void> {
    return this.mirror.start();
  }

  stop(): Promise<void> {
    return this.mirror.stop();
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

  /** Tells after each change. Answers how to stop being told. */
  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  private take(changes: MirrorChange[]): void {
    for (const { key, entry } of changes) {
      const [id] = this.keys.partsUnder(this.keys.subscriptions, key, 1) ?? [];
      if (id === undefined) continue;
      const subscription = entry && decodeSubscription(id, entry.value);
      if (subscription) this.index.set(subscription);
      else this.index.delete(id);
      if (entry && !subscription) this.options.logger.warn({ key }, 'skipped an unreadable record in etcd');
    }
    for (const listener of this.listeners) listener();
  }
}

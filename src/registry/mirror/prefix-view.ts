import { systemClock } from '../clock';
import { Keyspace } from '../keys';
import { DEFAULT_KEY_PREFIX, type RegistryOptions } from '../registry';
import { PrefixMirror, type MirrorChange } from './prefix-mirror';

export interface PrefixViewOptions extends RegistryOptions {
  /** `registry.refresh_interval`: how often the view is compared with etcd, ms. */
  refreshIntervalMs: number;
}

/**
 * What a process keeps of the keys below one prefix, parsed, so that reading it asks nobody. Follows etcd within milliseconds and
 * tells who listens; while etcd is away the last known state stands.
 */
export abstract class PrefixView {
  protected readonly keys: Keyspace;
  private readonly mirror: PrefixMirror;
  private readonly listeners = new Set<() => void>();

  /** @param prefixOf which of the keyspace's prefixes is followed */
  constructor(
    protected readonly options: PrefixViewOptions,
    prefixOf: (keys: Keyspace) => string,
  ) {
    const { etcd, keyPrefix = DEFAULT_KEY_PREFIX, tenant, logger, clock = systemClock, refreshIntervalMs } = options;
    this.keys = new Keyspace(keyPrefix, tenant);
    this.mirror = new PrefixMirror({
      etcd,
      prefix: prefixOf(this.keys),
      refreshIntervalMs,
      logger,
      clock,
      onChanges: (changes) => {
        if (this.take(changes)) for (const listener of this.listeners) listener();
      },
    });
  }

  /** Takes what changed over. Answers whether there is something to tell. Must not throw. */
  protected abstract take(changes: MirrorChange[]): boolean;

  /** Reads everything and follows it from then on. @throws ReachError `engine_unavailable`; may be called again */
  start(): Promise<void> {
    return this.mirror.start();
  }

  /** Follows no more; what was seen stays readable. */
  stop(): Promise<void> {
    return this.mirror.stop();
  }

  /** Tells after each change. Answers how to stop being told. */
  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }
}

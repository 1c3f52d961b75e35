import { routeTable, type RouteTable } from '../../protocol/route-table';
import { systemClock } from '../clock';
import { Keyspace } from '../keys';
import { PrefixMirror, type MirrorChange } from '../mirror/prefix-mirror';
import { DEFAULT_KEY_PREFIX, type RegistryOptions } from '../registry';
import { decodeTable, etagOf } from './table-record';

export interface RouteTableViewOptions extends RegistryOptions {
  /** `registry.refresh_interval`: how often the view is compared with etcd, ms. */
  refreshIntervalMs: number;
}

/**
 * The route table (R21) as this process sees it. Follows etcd within milliseconds; while etcd is away the last known one
 * stands, and one that cannot be read (of another release) changes nothing: traffic stays where it is.
 */
export class RouteTableView {
  private readonly keys: Keyspace;
  private readonly mirror: PrefixMirror;
  private readonly listeners = new Set<() => void>();
  private table: RouteTable = routeTable([], { etag: etagOf([]) });

  constructor(private readonly options: RouteTableViewOptions) {
    const { etcd, keyPrefix = DEFAULT_KEY_PREFIX, tenant, logger, clock = systemClock, refreshIntervalMs } = options;
    this.keys = new Keyspace(keyPrefix, tenant);
    this.mirror = new PrefixMirror({
      etcd,
      prefix: this.keys.routes,
      refreshIntervalMs,
      logger,
      clock,
      onChanges: (changes) => this.take(changes),
    });
  }

  /** Reads it and follows it from then on. @throws ReachError `engine_unavailable`; may be called again */
  start(): Promise<void> {
    return this.mirror.start();
  }

  stop(): Promise<void> {
    return this.mirror.stop();
  }

  /** As last seen; the same object until it changes. */
  current(): RouteTable {
    return this.table;
  }

  /** Tells after each change. Answers how to stop being told. */
  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  private take(changes: MirrorChange[]): void {
    const own = this.keys.under(this.keys.routes, 'table');
    const change = changes.findLast(({ key }) => key === own);
    if (change === undefined) return;
    const record = change.entry === null ? { entries: [], former: [] } : decodeTable(change.entry.value);
    if (record === null) {
      this.options.logger.warn({ key: own }, 'the route table in etcd cannot be read; the last known one stands');
      return;
    }
    this.table = routeTable(record.entries, { etag: etagOf(record.entries), former: record.former });
    for (const listener of this.listeners) listener();
  }
}

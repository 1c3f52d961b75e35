import { routeTable, type RouteTable } from '../../protocol/route-table';
import type { MirrorChange } from '../mirror/prefix-mirror';
import { PrefixView, type PrefixViewOptions } from '../mirror/prefix-view';
import { decodeTable, etagOf } from './table-record';

/**
 * The route table (R21) as this process sees it. Follows etcd within milliseconds; while etcd is away the last known one
 * stands, and one that cannot be read (of another release) changes nothing: traffic stays where it is.
 */
export class RouteTableView extends PrefixView {
  private table: RouteTable = routeTable([], { etag: etagOf([]) });

  constructor(options: PrefixViewOptions) {
    super(options, (keys) => keys.routes);
  }

  /** As last seen; the same object until it changes. */
  current(): RouteTable {
    return this.table;
  }

  protected take(changes: MirrorChange[]): boolean {
    const own = this.keys.under(this.keys.routes, 'table');
    const change = changes.findLast(({ key }) => key === own);
    if (change === undefined) return false;
    const record = change.entry === null ? { entries: [], former: [] } : decodeTable(change.entry.value);
    if (record === null) {
      this.options.logger.warn({ key: own }, 'the route table in etcd cannot be read; the last known one stands');
      return false;
    }
    this.table = routeTable(record.entries, { etag: etagOf(record.entries), former: record.former });
    return true;
  }
}

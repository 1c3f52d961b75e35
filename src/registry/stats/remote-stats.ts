import { momentOf, type Clock } from '../clock';
import type { Keyspace } from '../keys';
import type { Logger } from '../logger';
import type { MirrorChange } from '../mirror/prefix-mirror';
import { decodeAgentDigest, seriesKey } from './agent-digest';
import type { SeriesDigest } from './series';

interface RemoteSeries {
  version: number;
  byProcess: Map<string, SeriesDigest>;
}

/** What the other processes have measured, by series. */
export class RemoteStats {
  private readonly series = new Map<string, RemoteSeries>();
  /** The series that each key of etcd holds, so that they can be taken back. */
  private readonly held = new Map<string, { processId: string; keys: string[] }>();

  constructor(private readonly options: { keys: Keyspace; logger: Logger; ownProcessId: string; clock: Clock }) {}

  /** Applies changes of keys; this process's own are none of its business. */
  apply(changes: readonly MirrorChange[]): void {
    for (const change of changes) this.applyOne(change);
  }

  /** By the process that measured it. */
  byProcess(key: string): Iterable<[processId: string, digest: SeriesDigest]> {
    return this.series.get(key)?.byProcess ?? [];
  }

  digests(key: string): SeriesDigest[] {
    return [...(this.series.get(key)?.byProcess.values() ?? [])];
  }

  /** Grows whenever a series changes. */
  version(key: string): number {
    return this.series.get(key)?.version ?? 0;
  }

  private applyOne({ key, entry }: MirrorChange): void {
    const place = this.options.keys.parseDigest(key);
    if (place === null || place.processId === this.options.ownProcessId) return;
    this.takeBack(key);
    if (entry === null) return;
    const measured = decodeAgentDigest(entry.value, momentOf(this.options.clock));
    if (measured === null) return this.options.logger.warn({ key }, 'skipped an unreadable record in etcd');
    const keys = measured.map(({ id, digest }) => {
      const seriesId = seriesKey(place.name, id);
      const series = this.touch(seriesId);
      series.byProcess.set(place.processId, digest);
      return seriesId;
    });
    this.held.set(key, { processId: place.processId, keys });
  }

  private takeBack(key: string): void {
    const held = this.held.get(key);
    this.held.delete(key);
    for (const seriesId of held?.keys ?? []) this.touch(seriesId).byProcess.delete(held?.processId ?? '');
  }

  private touch(seriesId: string): RemoteSeries {
    const series = this.series.get(seriesId) ?? { version: 0, byProcess: new Map<string, SeriesDigest>() };
    series.version += 1;
    this.series.set(seriesId, series);
    return series;
  }
}

import { momentOf, type Clock } from '../clock';
import type { Keyspace } from '../keys';
import type { Logger } from '../logger';
import type { MirrorChange } from '../mirror/prefix-mirror';
import { decodeAgentDigest, seriesKey } from './agent-digest';
import type { SeriesDigest } from './series';

interface RemoteStatsOptions {
  keys: Keyspace;
  logger: Logger;
  ownProcessId: string;
  clock: Clock;
  /** Told which series no other process measures any more. */
  onGone?(seriesKeys: string[]): void;
}

interface RemoteSeries {
  version: number;
  byProcess: Map<string, SeriesDigest>;
}

/** What the other processes have measured, by series; of one that none measures any more nothing is kept. */
export class RemoteStats {
  private readonly series = new Map<string, RemoteSeries>();
  /** The series that each key of etcd holds, so that they can be taken back. */
  private readonly held = new Map<string, { processId: string; keys: string[] }>();
  /** Shared by all series, so that one that is forgotten and begun anew never shows a version again. */
  private lastVersion = 0;

  constructor(private readonly options: RemoteStatsOptions) {}

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

  /** Grows whenever a series changes; 0 while no other process measures it. */
  version(key: string): number {
    return this.series.get(key)?.version ?? 0;
  }

  private applyOne({ key, entry }: MirrorChange): void {
    const place = this.options.keys.parseDigest(key);
    if (place === null || place.processId === this.options.ownProcessId) return;
    const before = this.takeBack(key);
    if (entry !== null) this.takeOver(key, entry.value, place);
    this.dropEmpty(before);
  }

  private takeOver(key: string, value: Buffer, place: { processId: string; name: string }): void {
    const measured = decodeAgentDigest(value, momentOf(this.options.clock));
    if (measured === null) return this.options.logger.warn({ key }, 'skipped an unreadable record in etcd');
    const keys = measured.map(({ id, digest }) => {
      const seriesId = seriesKey(place.name, id);
      const series = this.touch(seriesId);
      series.byProcess.set(place.processId, digest);
      return seriesId;
    });
    this.held.set(key, { processId: place.processId, keys });
  }

  /** Answers the series that the key held. */
  private takeBack(key: string): string[] {
    const { keys, processId } = this.held.get(key) ?? { keys: [], processId: '' };
    this.held.delete(key);
    for (const seriesId of keys) this.touch(seriesId).byProcess.delete(processId);
    return keys;
  }

  private dropEmpty(seriesIds: readonly string[]): void {
    const gone = seriesIds.filter((seriesId) => this.series.get(seriesId)?.byProcess.size === 0);
    for (const seriesId of gone) this.series.delete(seriesId);
    if (gone.length > 0) this.options.onGone?.(gone);
  }

  private touch(seriesId: string): RemoteSeries {
    const series = this.series.get(seriesId) ?? { version: 0, byProcess: new Map<string, SeriesDigest>() };
    series.version = ++this.lastVersion;
    this.series.set(seriesId, series);
    return series;
  }
}

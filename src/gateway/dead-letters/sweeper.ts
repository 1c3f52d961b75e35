import type { Clock, Logger, RegistryOptions } from '../../registry';
import type { DeadLetterStore } from '../../registry/dead-letters/dead-letter-store';
import { LeaderKey } from '../../registry/etcd/leader-key';
import { LeaseKeeper } from '../../registry/etcd/lease-keeper';
import { DEFAULT_KEY_PREFIX } from '../../registry/registry';
import { Keyspace } from '../../registry/keys';
import { Ticker } from '../../registry/ticker';
import type { DeadLetterMetrics } from '../../telemetry/dead-letter-metrics';
import { currentRuns, withoutReplaced } from '../reach-rows';
import { readPage, type VisibilityScope } from '../visibility';
import { deadLetterTerms, failedRowOf, type FailedRow } from './list';
import type { NamespaceRetention } from './retention';

/** Another gateway takes over this long after the sweeping one died. */
const LEADER_TTL_SEC = 15;
/** Leadership is kept, and the time for a sweep looked at, this often. */
const TICK_MS = 1_000;
/** Runs read at once; also how many reaches are asked for in one query. */
const PAGE = 100;
/** More than so many pages are not read in one sweep: of those about to expire, and as many of the others. */
const MAX_PAGES = 100;
/** Ids that the alert names. */
const NAMED = 5;
/** The same finding is told again after this long, ms. */
const REPEAT_MS = 3_600_000;
/** Whether a run that failed by itself could tell its end is looked at for this long, ms. */
const LOOKED_AFTER_MS = 600_000;

export interface SweeperOptions {
  etcd: RegistryOptions['etcd'];
  keyPrefix?: string;
  tenant: string;
  scope: VisibilityScope;
  store: Pick<DeadLetterStore, 'discardedRuns'>;
  retention: Pick<NamespaceRetention, 'ms'>;
  /** `dead_letters.alert_before`, ms. */
  alertBeforeMs: number;
  /** `dead_letters.sweep_interval`, ms. */
  intervalMs: number;
  /** How many failed runs one sweep reads: pages, and runs on each. Default 100 of 100. */
  reads?: { pages: number; pageSize: number };
  /** Called for failed runs whose end is to be told and may not have been (R5). */
  onEnded?: (run: { reachId: string; runId: string }) => Promise<void>;
  metrics: DeadLetterMetrics;
  clock: Clock;
  logger: Logger;
}

/** What one sweep found. */
export interface Sweep {
  open: number;
  /** Those that retention takes within `alertBeforeMs`, oldest first. */
  expiring: { reach_id: string; expires_at: string }[];
  /** There were more runs than one sweep looks at: the counts are at least. */
  truncated: boolean;
}

/**
 * Counts the open dead letters and says so before retention takes any of them (R31): nobody should learn that a message is lost
 * by its absence. One gateway of all does it; two may for a moment, which only doubles a log line.
 */
export class DeadLetterSweeper {
  private readonly keeper: LeaseKeeper;
  private readonly leader: LeaderKey;
  private readonly ticker: Ticker;
  private nextMs = Number.NEGATIVE_INFINITY;
  /** Aborted by {@link stop}. */
  private readonly life = new AbortController();
  private told: { what: string; atMs: number } | null = null;

  constructor(private readonly options: SweeperOptions) {
    const { etcd, keyPrefix = DEFAULT_KEY_PREFIX, tenant, clock, logger, intervalMs } = options;
    const key = new Keyspace(keyPrefix, tenant).leader('dead-letter-sweeper');
    this.keeper = new LeaseKeeper(etcd);
    const monotonicMs = () => clock.monotonicMs();
    this.leader = new LeaderKey({
      etcd,
      keeper: this.keeper,
      key,
      ttlSec: LEADER_TTL_SEC,
      monotonicMs,
      logger,
    });
    this.ticker = new Ticker(Math.min(TICK_MS, intervalMs), () => this.tick());
  }

  start(): void {
    this.ticker.start();
  }

  /** Breaks off the sweep under way, which may take minutes that a drain does not have, and lets another gateway lead. */
  async stop(): Promise<void> {
    this.life.abort(new Error('the sweeper is stopped'));
    await this.ticker.stop();
    this.leader.resign();
    this.keeper.close();
  }

  /**
   * Looks at the failed runs that visibility knows, newest first. Those that expire soon are asked for by themselves: an
   * incident that left more newer ones than a sweep reads must not hide them (R31).
   * @throws ReachError `engine_unavailable`; the reason of {@link stop}, between two pages or runs
   */
  async sweep(): Promise<Sweep> {
    const { store, retention, alertBeforeMs, clock } = this.options;
    const [discarded, retentionMs] = await Promise.all([store.discardedRuns(), retention.ms()]);
    const horizon = new Date(clock.wall().getTime() + alertBeforeMs - retentionMs).toISOString();
    const seen = new Set<string>();
    const isNew = ({ run_id, reach_id }: FailedRow) => {
      if (discarded.has(run_id) || seen.has(reach_id)) return false;
      seen.add(reach_id);
      return true;
    };
    const newer = await this.read({ since: horizon }, isNew);
    const older = await this.read({ until: horizon }, isNew);
    const expiring = older.rows
      .map(({ reach_id, ended_at }) => ({
        reach_id,
        expires_at: new Date(Date.parse(ended_at ?? '') + retentionMs).toISOString(),
      }))
      .toSorted((a, b) => a.expires_at.localeCompare(b.expires_at));
    return { open: seen.size, expiring, truncated: newer.truncated || older.truncated };
  }

  /** The failed runs of a time that still stand and that `keep` wants, page after page up to the limit. */
  private async read(
    when: { since: string } | { until: string },
    keep: (row: FailedRow) => boolean,
  ): Promise<{ rows: FailedRow[]; truncated: boolean }> {
    const { scope, reads = { pages: MAX_PAGES, pageSize: PAGE }, onEnded } = this.options;
    const query = deadLetterTerms(when);
    const { signal } = this.life;
    const rows: FailedRow[] = [];
    let token: Uint8Array | undefined;
    for (let n = 0; n < reads.pages && token?.length !== 0; n += 1) {
      signal.throwIfAborted();
      const page = await readPage(scope, { query, pageSize: reads.pageSize, token }, WHAT);
      token = page.token;
      for (const row of await withoutReplaced(scope, currentRuns(page.executions.map(failedRowOf)), WHAT)) {
        signal.throwIfAborted();
        if (this.mayBeUntold(row)) await onEnded?.({ reachId: row.reach_id, runId: row.run_id });
        if (keep(row)) rows.push(row);
      }
    }
    return { rows, truncated: token?.length !== 0 };
  }

  /** Runs that failed by themselves tell it themselves; they are looked after once, in case they could not. */
  private mayBeUntold({ tells, cut, ended_at }: FailedRow): boolean {
    return tells && (cut || Date.parse(ended_at ?? '') > this.options.clock.wall().getTime() - LOOKED_AFTER_MS);
  }

  private async tick(): Promise<void> {
    const { clock, intervalMs, metrics, logger } = this.options;
    if (!(await this.leader.check())) {
      metrics.found(null);
      this.nextMs = Number.NEGATIVE_INFINITY;
      return;
    }
    if (clock.monotonicMs() < this.nextMs) return;
    this.nextMs = clock.monotonicMs() + intervalMs;
    try {
      const found = await this.sweep();
      metrics.found({ open: found.open, expiring: found.expiring.length, truncated: found.truncated });
      this.alert(found);
    } catch (err) {
      logger.debug({ err }, 'dead letters could not be counted; the next sweep tries again');
    }
  }

  private alert({ open, expiring, truncated }: Sweep): void {
    const { clock, logger } = this.options;
    const oldest = expiring.slice(0, NAMED).map(({ reach_id }) => reach_id);
    const [first] = expiring;
    const what = `${expiring.length} ${oldest.join(' ')}`;
    if (!first) this.told = null;
    const again = this.told?.what !== what || clock.monotonicMs() - this.told.atMs >= REPEAT_MS;
    if (!first || !again) return;
    this.told = { what, atMs: clock.monotonicMs() };
    logger.warn(
      { open, expiring: expiring.length, truncated, oldest, first_expires_at: first.expires_at },
      `${expiring.length} dead letters will be removed by retention, the first at ${first.expires_at} (${oldest.join(', ')}): ` +
        'look with `agent-reach dead-letters list`, then redrive or discard them, or raise the retention of the namespace',
    );
  }
}

const WHAT = 'count the dead letters';

/** Dead letters (R31): listed, told, redriven once, discarded, and counted before they vanish. */
import type { Client } from '@temporalio/client';
import type {
  BulkRedriveRequest,
  BulkRedriveResult,
  DeadLetter,
  DiscardReceipt,
  RedriveReceipt,
} from '../../protocol/dead-letter';
import type { Payloads } from '../../payloads';
import type { Clock, Logger, RegistryOptions } from '../../registry';
import { systemClock } from '../../registry/clock';
import { DeadLetterStore } from '../../registry/dead-letters/dead-letter-store';
import type { DeadLetterMetrics } from '../../telemetry/dead-letter-metrics';
import type { ReachReader } from '../reach-reader';
import { BulkRedriver } from './bulk';
import { DeadLetterCases } from './cases';
import { Discarder } from './discard';
import { DeadLetterLister, type DeadLetterPage } from './list';
import { Redriver, type RedriveOrder } from './redrive';
import { FRESH_FOR_WRITING_MS, NamespaceRetention } from './retention';
import { RunReader } from './runs';
import { DeadLetterViewer } from './show';
import { DeadLetterSweeper } from './sweeper';

/** What dead letters are made of. */
export interface DeadLetterOptions {
  client: Client;
  namespace: string;
  reader: ReachReader;
  etcd: RegistryOptions['etcd'];
  keyPrefix?: string;
  tenant: string;
  /** `dead_letters` of the Config, ms. */
  settings: { alert_before: number; sweep_interval: number };
  metrics: DeadLetterMetrics;
  /** {@link DeadLetterSweeper}: runs that the server ended had no chance to tell their end themselves. */
  onEnded?: (run: { reachId: string; runId: string }) => Promise<void>;
  logger: Logger;
  /** Where large payloads are. */
  payloads: Pick<Payloads, 'load' | 'hold'>;
  clock?: Clock;
}

/** Everything that can be done with dead letters; what the routes call. */
export class DeadLetters {
  private readonly lister: DeadLetterLister;
  private readonly viewer: DeadLetterViewer;
  private readonly redriver: Redriver;
  private readonly bulk: BulkRedriver;
  private readonly discarder: Discarder;
  private readonly sweeper: DeadLetterSweeper;

  constructor(options: DeadLetterOptions) {
    const { client, namespace, reader, etcd, keyPrefix, tenant, settings, metrics, logger } = options;
    const clock = options.clock ?? systemClock;
    const scope = { client, namespace };
    const retention = new NamespaceRetention({ ...scope, clock });
    const place = { etcd, keyPrefix, tenant, logger, clock };
    const retentionSec = async () => Math.ceil((await retention.ms(FRESH_FOR_WRITING_MS)) / 1_000);
    const store = new DeadLetterStore({ ...place, retentionSec });
    const parts = { reader, runs: new RunReader(scope), store, retention };
    const cases = new DeadLetterCases(parts);
    const all = { ...parts, cases, payloads: options.payloads };
    this.lister = new DeadLetterLister({ ...all, scope });
    this.viewer = new DeadLetterViewer(all);
    this.redriver = new Redriver({ ...all, ...scope, clock, logger, onRedriven: () => metrics.redriven() });
    this.bulk = new BulkRedriver({ lister: this.lister, redriver: this.redriver, runs: parts.runs, clock });
    this.discarder = new Discarder({ ...all, clock });
    this.sweeper = new DeadLetterSweeper({
      ...place,
      scope,
      store,
      retention,
      metrics,
      onEnded: options.onEnded,
      alertBeforeMs: settings.alert_before,
      intervalMs: settings.sweep_interval,
    });
  }

  /** Begins to count them and to alert (`dead_letters.sweep_interval`). */
  start(): void {
    this.sweeper.start();
  }

  stop(): Promise<void> {
    return this.sweeper.stop();
  }

  /** {@inheritDoc DeadLetterLister.list} */
  list(query: unknown): Promise<DeadLetterPage> {
    return this.lister.list(query);
  }

  /** {@inheritDoc DeadLetterViewer.show} */
  show(id: string): Promise<DeadLetter> {
    return this.viewer.show(id);
  }

  /** {@inheritDoc Redriver.redrive} */
  redrive(id: string, order: RedriveOrder): Promise<RedriveReceipt> {
    return this.redriver.redrive(id, order);
  }

  /** {@inheritDoc BulkRedriver.redrive} */
  redriveAll(request: BulkRedriveRequest, by: string): Promise<BulkRedriveResult> {
    return this.bulk.redrive(request, by);
  }

  /** {@inheritDoc Discarder.discard} */
  discard(id: string, why: { reason: string; by: string }): Promise<DiscardReceipt> {
    return this.discarder.discard(id, why);
  }
}

/** Deliveries of the ends of reaches (R5): listed, shown, redriven; and the secret that they are signed with. */
import type { CallbackSecret, Delivery, DeliveryRedrive } from '../../protocol/callback';
import { parseCallbackId } from '../../protocol/callback-id';
import type { Logger } from '../../registry';
import type { RunReader } from '../dead-letters/runs';
import { noDelivery, type Deliveries, type DeliveryPage } from './deliveries';
import type { DeliveryStarter } from './starter';

const MAX_KEPT = 10_000;

/** What callbacks are made of. */
export interface CallbacksOptions {
  deliveries: Deliveries;
  starter: DeliveryStarter;
  runs: Pick<RunReader, 'describe' | 'opening'>;
  secret: CallbackSecret;
  logger: Pick<Logger, 'debug'>;
}

/** Everything that can be done with callbacks; what the routes call. */
export class Callbacks {
  /** Runs that were looked after, so that each sweep does not do it again. */
  private readonly caughtUp = new Set<string>();

  constructor(private readonly options: CallbacksOptions) {}

  /** {@inheritDoc Deliveries.list} */
  list(query: unknown): Promise<DeliveryPage> {
    return this.options.deliveries.list(query);
  }

  /** {@inheritDoc Deliveries.show} */
  show(id: string): Promise<Delivery> {
    return this.options.deliveries.show(id);
  }

  /**
   * Delivers once more, on a fresh schedule and under the same id, what failed or was never begun. What is under way or
   * delivered is left alone.
   * @throws ReachError `not_found`
   */
  async redrive(id: string): Promise<DeliveryRedrive> {
    const key = parseCallbackId(id);
    if (!key) throw noDelivery();
    const { runs, starter, deliveries } = this.options;
    await runs.describe(key.reachId, key.runId);
    const { input } = await runs.opening(key.reachId, key.runId);
    const { callback, reply_to } = input.envelope;
    const to = key.kind === 'callback' ? callback : reply_to;
    if (!to) throw noDelivery();
    const begun = await starter.startOne({ ...key, to }, true);
    const { status } = await deliveries.show(id);
    return { id, status, replayed: !begun };
  }

  /**
   * Tells the end of a run that could not: the server ended it (its time ran out with no worker, an operator terminated it).
   * One that was told already stays so. Never fails: the next sweep tries again.
   */
  async catchUp({ reachId, runId }: { reachId: string; runId: string }): Promise<void> {
    if (this.caughtUp.has(runId)) return;
    try {
      const { input } = await this.options.runs.opening(reachId, runId);
      const { callback, reply_to } = input.envelope;
      await this.options.starter.start({ reach_id: reachId, run_id: runId, callback, reply_to });
      this.caughtUp.add(runId);
      const [oldest] = this.caughtUp;
      if (this.caughtUp.size > MAX_KEPT && oldest !== undefined) this.caughtUp.delete(oldest);
    } catch (err) {
      this.options.logger.debug(
        { reach_id: reachId, err },
        'the end of a run could not be told; the next sweep tries again',
      );
    }
  }

  /** For receivers: what callbacks are signed with, where the platform made it up itself. */
  secret(): CallbackSecret {
    return this.options.secret;
  }
}

import type { PayloadPlatform } from '../payloads';
import { ReachError } from '../protocol/reach-error';
import { Ticker } from '../registry/ticker';
import type { Logger } from '../registry';
import type { PayloadMetrics } from '../telemetry/payload-metrics';

/** What the keeper works with. */
export interface PayloadKeeperOptions {
  platform: Pick<PayloadPlatform, 'sweep'>;
  /** `payloads.sweep_interval`, ms. */
  intervalMs: number;
  metrics: PayloadMetrics;
  logger: Logger;
}

/**
 * Removes large payloads that nothing has used for `payloads.retention`, and uploads that nobody goes on with. Every gateway
 * does it, in its own rhythm: an object is removed by its own mark alone, so that two at once do no harm.
 */
export class PayloadKeeper {
  private readonly ticker: Ticker;
  private readonly stopping = new AbortController();

  constructor(private readonly options: PayloadKeeperOptions) {
    this.ticker = new Ticker(options.intervalMs, () => this.sweep());
  }

  start(): void {
    this.ticker.start();
  }

  /** Ends a sweep that is under way after the object it is at. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.ticker.stop();
  }

  private async sweep(): Promise<void> {
    const { platform, metrics, logger } = this.options;
    try {
      const counted = await platform.sweep(this.stopping.signal);
      if (this.stopping.signal.aborted) return;
      metrics.counted(counted);
      if (counted.removed > 0) logger.info(counted, 'removed large payloads that nothing has used for a while');
    } catch (caught) {
      const { code, message, cause } = ReachError.from(caught);
      logger.warn({ code, err: cause }, `large payloads could not be looked through: ${message}`);
    }
  }
}

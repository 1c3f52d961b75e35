import { degradedMode } from '../../policy/degraded-mode';
import type { AgentVersion, DegradedMode } from '../../protocol/world';
import type { Clock } from '../clock';
import type { Logger } from '../logger';

/** Watches whether enough agents are healthy (R24), and says so in the log when that changes. */
export class DegradedWatch {
  private mode: DegradedMode | null = null;

  constructor(private readonly options: { threshold: number; clock: Clock; logger: Logger }) {}

  /** As of the last {@link reassess}; the same object while nothing changes. */
  get current(): DegradedMode | null {
    return this.mode;
  }

  /** Looks again. All versions of a name count as one agent, healthy when one of them is. */
  reassess(agents: readonly AgentVersion[]): void {
    const { threshold, clock, logger } = this.options;
    const total = new Set(agents.map(({ name }) => name)).size;
    const healthy = new Set(agents.filter(isHealthy).map(({ name }) => name)).size;
    const before = this.mode;
    this.mode = degradedMode({ healthy, total }, threshold, before, () => clock.wall());
    if (this.mode !== null && before === null) {
      const details = { healthy, total, threshold };
      logger.warn(
        details,
        'degraded mode: too few agents are healthy; routing by the fallback strategy, failing the excess fast',
      );
    }
    if (this.mode === null && before !== null) logger.info({ healthy, total }, 'degraded mode is over');
  }
}

/** Busy is healthy: the agent works. */
function isHealthy({ instances }: AgentVersion): boolean {
  return instances.some(({ status }) => status === 'ready' || status === 'busy');
}

import { degradedMode } from '../../policy/degraded-mode';
import type { AgentVersion, DegradedMode } from '../../protocol/world';
import type { Clock } from '../clock';
import type { Logger } from '../logger';

/** An agent that has not been ready yet is no loss for so long: within it come the first heartbeat and the first probes, ms. */
const NEWCOMER_MS = 30_000;

/** Watches whether enough agents are healthy (R24), and says so in the log when that changes. */
export class DegradedWatch {
  private mode: DegradedMode | null = null;
  /** Agents that were ready, as they said or a probe found. */
  private proven: ReadonlySet<string> = new Set();
  private newcomers = 0;

  constructor(private readonly options: { threshold: number; clock: Clock; logger: Logger }) {}

  /** As of the last {@link reassess}; the same object while nothing changes. */
  get current(): DegradedMode | null {
    return this.mode;
  }

  /** Whether time alone may change what {@link reassess} finds. */
  get isWaiting(): boolean {
    return this.newcomers > 0;
  }

  /**
   * Looks again. All versions of a name count as one agent, healthy when one of them is. Who has only just come and was never
   * ready counts neither way: it says nothing of the platform. Answers whether the mode changed.
   */
  reassess(agents: readonly AgentVersion[]): boolean {
    const { threshold, clock, logger } = this.options;
    const names = new Set(agents.map(({ name }) => name));
    const healthySet = new Set(agents.filter(isHealthy).map(({ name }) => name));
    const provenNow = new Set(agents.filter(isProven).map(({ name }) => name));
    this.proven = new Set([...names].filter((name) => provenNow.has(name) || this.proven.has(name)));
    const bornBefore = clock.wall().getTime() - NEWCOMER_MS;
    const settled = new Set(agents.filter((agent) => bornMs(agent) <= bornBefore).map(({ name }) => name));
    const counted = [...names].filter((name) => healthySet.has(name) || this.proven.has(name) || settled.has(name));
    this.newcomers = names.size - counted.length;
    const [healthy, total] = [healthySet.size, counted.length];
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
    return this.mode !== before;
  }
}

/** Busy is healthy: the agent works. */
function isHealthy({ instances }: AgentVersion): boolean {
  return instances.some(({ status }) => status === 'ready' || status === 'busy');
}

/** A static address that nobody has probed is only presumed ready. Who has left was there. */
function isProven({ instances, gone = [] }: AgentVersion): boolean {
  return gone.length > 0 || instances.some(({ health, source }) => source === 'lease' || health === 'passing');
}

/** When the version came, ms since 1970; other content under it makes it no newcomer. */
function bornMs({ first_registered_at, registered_at }: AgentVersion): number {
  return Date.parse(first_registered_at ?? registered_at);
}

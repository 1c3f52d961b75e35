/** Vectors of what agents say about themselves, computed before anybody asks. */
import type { Logger } from 'pino';
import type { AgentVersion } from './protocol/world';

/** Whether agents are told apart by meaning: vectors computed, being computed, or words only. */
export type VectorState = 'ready' | 'warming' | 'lexical';

/** After a failure it is tried again, at first soon, then twice as late each time, ms. */
const RETRY_MS = { first: 1_000, most: 30_000 };

export interface WarmingParts {
  /** Computes what is missing; rejects when it cannot. */
  warm: () => Promise<void>;
  agents: () => readonly Pick<AgentVersion, 'descriptor'>[];
  /** Calls back whenever agents may have changed; answers how to stop that. */
  onChange: (listener: () => void) => () => void;
  logger: Pick<Logger, 'warn' | 'info'>;
}

/**
 * Computes the vectors of new descriptors as they appear, so that no request waits for them; heartbeats change nothing.
 * While the endpoint fails it goes on trying, so that an outage at the start is over when the outage is.
 */
export function keepWarm({ warm, agents, onChange, logger }: WarmingParts): { stop(): void; state(): VectorState } {
  let known: readonly unknown[] = [];
  let running = false;
  let outdated = false;
  let failures = 0;
  let stopped = false;
  let again: NodeJS.Timeout | undefined;

  const attempt = async () => {
    try {
      await warm();
      if (failures > 0) logger.info('vectors are computed again; routing goes by meaning');
      failures = 0;
    } catch (err) {
      if (stopped) return;
      if (failures === 0) logger.warn({ err }, 'vectors cannot be computed; routing by meaning is lexical for now');
      failures += 1;
      again = setTimeout(() => void run(), Math.min(RETRY_MS.most, RETRY_MS.first * 2 ** (failures - 1))).unref();
    }
  };
  const run = async () => {
    outdated = true;
    if (running) return;
    running = true;
    // A hundred agents that register together are a reason for two rounds, not for a hundred.
    while (outdated && !stopped) {
      outdated = false;
      clearTimeout(again);
      await attempt();
    }
    running = false;
  };
  const look = () => {
    const now = agents().map(({ descriptor }) => descriptor);
    if (now.length === known.length && now.every((descriptor, index) => descriptor === known[index])) return;
    known = now;
    void run();
  };
  look();
  const unsubscribe = onChange(look);
  return {
    stop() {
      unsubscribe();
      clearTimeout(again);
      stopped = true;
    },
    state: () => (failures > 0 ? 'lexical' : running ? 'warming' : 'ready'),
  };
}

/** The decision log of one process: where it is kept, what is told of it, and who cleans it. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Registry as MetricsRegistry } from 'prom-client';
import type { Config } from './config';
import { DecisionLog, processName } from './decisions';
import type { PayloadPlatform } from './payloads';
import { DEFAULT_TENANT } from './protocol/limits';
import type { Decision } from './protocol/shapes';
import { createDecisionMetrics, type DecisionMetrics } from './telemetry/decision-metrics';

/** How often the log is cleaned, ms. */
const PRUNE_MS = 300_000;
/** Processes that start together do not clean together, ms. */
const PRUNE_SPREAD_MS = 30_000;

/** Nothing was scored. */
const NO_WEIGHTS = { semantic_similarity: 0, latency_score: 0, reliability_score: 0 };

/** The log, and what cleans it. */
export interface RunningDecisionLog {
  log: DecisionLog;
  /** Cleans now and then from now on; one process is enough, several do no harm. */
  startPruning(): void;
  /** Keeps the decision for a fixed answer, which no router makes (R30). */
  keepStandIn(decision: Decision, reachId: string): void;
  /** Writes what is left. */
  close(): Promise<void>;
}

/** Opens the log in the store of large payloads. Nothing is written before the first decision. */
export function createDecisionLog(
  config: Config,
  { payloads, logger, metrics: registry }: { payloads: PayloadPlatform; logger: Logger; metrics: MetricsRegistry },
): RunningDecisionLog {
  const metrics = createDecisionMetrics(registry, () => log.pending);
  const { objects } = payloads;
  let told = false;
  const log: DecisionLog = new DecisionLog({
    objects,
    tenant: DEFAULT_TENANT,
    settings: config.decisions,
    madeBy: processName('p'),
    events: {
      written: metrics.written,
      dropped(decisions) {
        metrics.dropped(decisions);
        if (!told)
          logger.error(
            { store: objects.name },
            'decisions are being dropped from the decision log: the store takes too little',
          );
        told = true;
      },
      failing(error) {
        metrics.failed();
        told = false;
        logger.warn(
          { err: error, store: objects.name },
          'decisions cannot be written to the decision log; they are kept in memory meanwhile',
        );
      },
    },
    onLost: (err) => logger.error({ err }, 'a decision could not be recorded'),
  });
  const life = new AbortController();
  return {
    log,
    startPruning: () => void pruneAgainAndAgain(log, { metrics, logger, signal: life.signal }),
    keepStandIn(decision, reachId) {
      if (!log.wants(decision.decision_id)) return;
      const record = { ...decision, reach_id: reachId, made_by: log.madeBy, weights: NO_WEIGHTS };
      log.keep({ record, complete: null });
    },
    async close() {
      life.abort();
      await log.close();
    },
  };
}

async function pruneAgainAndAgain(
  log: DecisionLog,
  { metrics, logger, signal }: { metrics: DecisionMetrics; logger: Logger; signal: AbortSignal },
): Promise<void> {
  const wait = (ms: number) => sleep(ms, undefined, { signal, ref: false }).catch(() => undefined);
  await wait(Math.random() * PRUNE_SPREAD_MS);
  while (!signal.aborted) {
    try {
      const { segments, bytes } = await log.prune();
      metrics.kept(segments, bytes);
    } catch (err) {
      logger.warn({ err }, 'the decision log could not be cleaned');
    }
    await wait(PRUNE_MS);
  }
}

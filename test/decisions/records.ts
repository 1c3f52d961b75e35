/** Logged decisions that need no router, and a log of their own to keep them in. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import { DecisionLog, type DecisionLogSettings } from '../../src/decisions';
import { FileStore } from '../../src/payloads/file-store';
import type { LoggedDecision } from '../../src/protocol/logged-decision';

const WEIGHTS = { semantic_similarity: 0.6, latency_score: 0.2, reliability_score: 0.2 };

/** A decision for an agent; `ms` is its time. */
export function decisionAt(ms: number, more: Partial<LoggedDecision> & { agent?: string } = {}): LoggedDecision {
  const { agent = 'ant', ...rest } = more;
  const ability = rest.ability ?? 'help';
  return {
    decision_id: uuidv7({ msecs: ms }),
    at: new Date(ms).toISOString(),
    ability,
    group: 'default',
    strategy: 'score_based',
    chosen: { agent_name: agent, agent_version: '1.0.0', ability, score: 0.9 },
    confidence: 1,
    explored: false,
    candidates: [],
    excluded: [],
    excluded_count: 0,
    route_reason: `${agent} is the only agent that can take ${ability}`,
    made_by: 'test',
    weights: WEIGHTS,
    ...rest,
  };
}

/** A refusal; nobody was chosen. */
export function refusalAt(ms: number, more: Partial<LoggedDecision> = {}): LoggedDecision {
  const message = 'circuit breakers hold back all';
  const diagnosis = { reason: 'breaker_open' as const, message };
  return decisionAt(ms, {
    chosen: null,
    strategy: null,
    code: 'circuit_open',
    diagnosis,
    route_reason: message,
    ...more,
  });
}

/** What happened to a log's writing. */
export interface LogEvents {
  written: number;
  dropped: number;
  failures: number;
}

/** A directory for logs of several processes. */
export const newDirectory = () => mkdtempSync(join(tmpdir(), 'agent-reach-decisions-'));

/** A process's log in a directory. */
export function logIn(
  objects: string | FileStore,
  {
    settings = {},
    madeBy = 'one',
    nowMs,
  }: { settings?: Partial<DecisionLogSettings>; madeBy?: string; nowMs?: () => number } = {},
): { log: DecisionLog; events: LogEvents } {
  const events: LogEvents = { written: 0, dropped: 0, failures: 0 };
  const log = new DecisionLog({
    objects: typeof objects === 'string' ? new FileStore(objects) : objects,
    tenant: 'default',
    settings: {
      sample_rate: 1,
      keep_text: true,
      retention: 604_800_000,
      max_bytes: 1_073_741_824,
      flush_interval: 60_000,
      ...settings,
    },
    madeBy,
    events: {
      written: (decisions) => (events.written += decisions),
      dropped: (decisions) => (events.dropped += decisions),
      failing: () => (events.failures += 1),
    },
    onLost(error) {
      throw new Error('a decision could not be kept', { cause: error });
    },
    ...(nowMs && { nowMs }),
  });
  return { log, events };
}

/** Keeps decisions as a router would. */
export function keepAll(log: DecisionLog, decisions: readonly LoggedDecision[]): void {
  for (const record of decisions) log.keep({ record, complete: null });
}

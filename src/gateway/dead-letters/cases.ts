import type { WorkflowExecutionDescription } from '@temporalio/client';
import type { DeadLetterItem, DeadLetterState, Redrive } from '../../protocol/dead-letter';
import { ERROR_TABLE } from '../../protocol/error-codes';
import { ReachError } from '../../protocol/reach-error';
import type { DeadLetterStore } from '../../registry/dead-letters/dead-letter-store';
import type { DeadLetterRecords } from '../../registry/dead-letters/records';
import type { ReachMemo } from '../../../workflows/messages';
import type { ReachReader } from '../reach-reader';
import { decodeSearchAttributes } from '../search-attributes';
import type { NamespaceRetention } from './retention';
import { deadStatus, isDead, type RunReader } from './runs';

/** A reach that is, or was until it was redriven, a dead letter. */
export interface DeadCase {
  id: string;
  /** The run that counts now. */
  current: WorkflowExecutionDescription;
  /** The last run that failed; the current one unless it was redriven. */
  failed: WorkflowExecutionDescription;
  state: DeadLetterState;
  redrives: Redrive[];
  records: DeadLetterRecords;
}

export interface CaseOptions {
  reader: ReachReader;
  runs: RunReader;
  store: DeadLetterStore;
  retention: NamespaceRetention;
}

/** A chain of runs is not followed further than this. */
const MAX_RUNS = 100;
/** On record for resets that were not ours. */
export const BY_RESET = 'temporal workflow reset';

/** Finds out which reaches are dead letters, in which state, and with what history of redrives. */
export class DeadLetterCases {
  constructor(private readonly options: CaseOptions) {}

  /** @throws ReachError `not_found` for unknown ids, and for reaches that are no dead letters, saying what they are */
  async find(id: string): Promise<DeadCase> {
    const current = await this.options.reader.describe(id);
    const found = await this.of(current, await this.recordsOf(id));
    if (found) return found;
    throw notDead(id, current);
  }

  /** The case of a reach; null when its last run did not fail and replaced none that did. */
  async of(current: WorkflowExecutionDescription, records: DeadLetterRecords): Promise<DeadCase | null> {
    const id = current.workflowId;
    const redrives = await this.lineage(current, records);
    const known = { id, current, redrives, records };
    if (isDead(current))
      return { ...known, failed: current, state: records.discards.has(current.runId) ? 'discarded' : 'open' };
    const last = redrives.at(-1);
    const failed = last && (await this.describe(id, last.redriven_run_id));
    return failed && isDead(failed) ? { ...known, failed, state: 'redriven' } : null;
  }

  /** What is on record of one reach. */
  async recordsOf(id: string): Promise<DeadLetterRecords> {
    const records = await this.options.store.of([id]);
    return records.get(id) ?? { redrives: new Map(), discards: new Map() };
  }

  /** A run; null when it is gone. */
  async describe(id: string, runId: string): Promise<WorkflowExecutionDescription | null> {
    return this.options.runs.describe(id, runId).catch((error: unknown) => {
      if (error instanceof ReachError && error.code === 'not_found') return null;
      throw error;
    });
  }

  /** A case as lists show it. */
  async item({ id, failed, state, redrives, records }: DeadCase): Promise<DeadLetterItem> {
    const ending = await this.options.runs.ending(id, failed.runId);
    const failedAt = failed.closeTime ?? failed.startTime;
    const memo = failed.memo as ReachMemo;
    const discard = records.discards.get(failed.runId);
    const { ReachAgent, ReachVersion } = decodeSearchAttributes(failed.raw.workflowExecutionInfo?.searchAttributes);
    return {
      reach_id: id,
      run_id: failed.runId,
      state,
      status: deadStatus(failed),
      ability: memo.ability,
      agent_name: ReachAgent ?? memo.agent_name,
      agent_version: ReachVersion ?? memo.agent_version,
      source_agent: memo.source_agent,
      failed_at: failedAt.toISOString(),
      expires_at: new Date(failedAt.getTime() + (await this.options.retention.ms())).toISOString(),
      error: {
        code: ending.problem.code,
        message: ending.problem.detail,
        class: ERROR_TABLE[ending.problem.code].class,
      },
      attempts: ending.attempts,
      decision_id: memo.decision_id,
      redrives,
      ...(discard && { discard: { reason: discard.reason, by: discard.by, at: discard.at } }),
    };
  }

  /**
   * Which run replaced which, oldest first. The server notes with each run by which it was reset, so resets by hand are in it;
   * ours have a marker that knows who asked. What retention has taken is told by the markers alone.
   */
  private async lineage(current: WorkflowExecutionDescription, records: DeadLetterRecords): Promise<Redrive[]> {
    const first = current.raw.workflowExecutionInfo?.firstRunId;
    if (!first || first === current.runId) return [];
    const redrives = markedRedrives(records);
    const known = new Set(redrives.map(({ run_id }) => run_id));
    let runId: string | null | undefined = first;
    for (let n = 0; runId && runId !== current.runId && n < MAX_RUNS; n += 1) {
      const run = await this.describe(current.workflowId, runId);
      const next: string | null | undefined = run?.raw.workflowExtendedInfo?.resetRunId;
      if (!next) break;
      if (!known.has(next)) redrives.push(await this.unmarked(current, { from: runId, to: next }));
      runId = next;
    }
    return redrives.toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at));
  }

  private async unmarked(
    current: WorkflowExecutionDescription,
    { from, to }: { from: string; to: string },
  ): Promise<Redrive> {
    const run = to === current.runId ? current : await this.describe(current.workflowId, to);
    return { run_id: to, redriven_run_id: from, at: (run ?? current).startTime.toISOString(), by: BY_RESET };
  }
}

function markedRedrives({ redrives }: DeadLetterRecords): Redrive[] {
  return [...redrives].flatMap(([redriven_run_id, record]) =>
    record.state === 'done' ? [{ run_id: record.run_id, redriven_run_id, at: record.at, by: record.by }] : [],
  );
}

/** The 404 of a reach that is fine. */
export function notDead(id: string, current: WorkflowExecutionDescription): ReachError {
  const status = current.status.name.toLowerCase();
  return new ReachError(
    'not_found',
    `${id} is no dead letter: the reach is ${status}; GET /v1/reaches/${id} has what is known of it`,
    { extra: { reach_id: id } },
  );
}

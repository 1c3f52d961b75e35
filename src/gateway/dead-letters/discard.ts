import { setTimeout as sleep } from 'node:timers/promises';
import type { DiscardReceipt } from '../../protocol/dead-letter';
import { ReachError } from '../../protocol/reach-error';
import type { Clock } from '../../registry';
import { PENDING_TTL_SEC } from '../../registry/dead-letters/dead-letter-store';
import type { CaseOptions, DeadLetterCases } from './cases';
import { LOOK_EVERY_MS, PATIENCE_MS } from './redrive';

/** Takes dead letters out of the open ones, for good: the run stays readable, nobody is told to redrive it. */
export class Discarder {
  constructor(private readonly options: CaseOptions & { cases: DeadLetterCases; clock: Clock }) {}

  /**
   * Again changes nothing and answers the first record. A redrive that is just being made is waited for. @throws ReachError
   * `not_found`; `reach_terminal` when it was redriven; `engine_unavailable` while it is not clear whether it was
   */
  async discard(id: string, why: { reason: string; by: string }): Promise<DiscardReceipt> {
    const { cases, store, clock } = this.options;
    const { failed, state } = await cases.find(id);
    if (state === 'redriven') throw redriven(id);
    const { runId } = failed;
    const endsMs = clock.monotonicMs() + PATIENCE_MS;
    for (;;) {
      const outcome = await store.discard({ reachId: id, runId }, why);
      if ('record' in outcome) {
        const { reason, by, at } = outcome.record;
        return { reach_id: id, run_id: runId, state: 'discarded', reason, by, at, replayed: !outcome.created };
      }
      if (outcome.redrive.state === 'done') throw redriven(id);
      if (clock.monotonicMs() >= endsMs) throw beingRedriven(id);
      await sleep(LOOK_EVERY_MS);
    }
  }
}

/** Whoever claimed it may have died before anything was sent; then there is no new run to speak of. */
function beingRedriven(id: string): ReachError {
  return new ReachError(
    'engine_unavailable',
    `A redrive of ${id} was begun and is not confirmed yet; ask again: within ${PENDING_TTL_SEC} s it is clear whether it can be discarded`,
    { retryAfterMs: 2_000, extra: { reach_id: id } },
  );
}

function redriven(id: string): ReachError {
  return new ReachError(
    'reach_terminal',
    `${id} was redriven and cannot be discarded; POST /v1/reaches/${id}:cancel stops the new run`,
    { extra: { reach_id: id } },
  );
}

import type { DiscardReceipt } from '../../protocol/dead-letter';
import { ReachError } from '../../protocol/reach-error';
import type { CaseOptions, DeadLetterCases } from './cases';

/** Takes dead letters out of the open ones, for good: the run stays readable, nobody is told to redrive it. */
export class Discarder {
  constructor(private readonly options: CaseOptions & { cases: DeadLetterCases }) {}

  /** Again changes nothing and answers the first record. @throws ReachError `not_found`; `reach_terminal` when it was redriven */
  async discard(id: string, why: { reason: string; by: string }): Promise<DiscardReceipt> {
    const { failed, state } = await this.options.cases.find(id);
    if (state === 'redriven') throw redriven(id);
    const { runId } = failed;
    const outcome = await this.options.store.discard({ reachId: id, runId }, why);
    if ('redrive' in outcome) throw redriven(id);
    const { reason, by, at } = outcome.record;
    return { reach_id: id, run_id: runId, state: 'discarded', reason, by, at, replayed: !outcome.created };
  }
}

function redriven(id: string): ReachError {
  return new ReachError(
    'reach_terminal',
    `${id} was redriven and cannot be discarded; POST /v1/reaches/${id}:cancel stops the new run`,
    { extra: { reach_id: id } },
  );
}

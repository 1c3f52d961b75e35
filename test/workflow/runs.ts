import { randomUUID } from 'node:crypto';
import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { ReachFailure, ReachInput, ReachOutput } from '../../workflows/messages';
import type { TemporalBench } from '../support/temporal';

/** How a suite runs reaches on its bench, which is there once its tests run. */
export function runsOn(bench: () => TemporalBench) {
  const start = (input: ReachInput) => {
    const { client, taskQueue } = bench();
    return client.workflow.start('reach', { workflowId: `r-${randomUUID()}`, taskQueue, args: [input] });
  };
  const run = async (input: ReachInput) => (await start(input)).result() as Promise<ReachOutput>;
  /** The failure that a reach ends with. */
  async function failureOf(input: ReachInput): Promise<ReachFailure> {
    const error = await run(input).then(
      () => Promise.reject(new Error('the reach completed')),
      (caught: unknown) => caught,
    );
    if (!(error instanceof WorkflowFailedError) || !(error.cause instanceof ApplicationFailure)) throw error;
    return error.cause.details?.[0] as ReachFailure;
  }
  return { start, run, failureOf };
}

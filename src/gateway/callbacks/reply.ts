import { isGrpcServiceError, type Client } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { ReachError } from '../../protocol/reach-error';
import { bounded, fromTemporal } from '../temporal-errors';

/** gRPC's NOT_FOUND: no such workflow, or none that runs. */
const NOT_FOUND = 5;

/**
 * Signals a workflow of the same namespace with the end of a reach, as plain JSON: whose workers it runs on is not ours to
 * know. The server takes a signal with the same `id` once, so a repeat after a lost answer signals nobody twice.
 *
 * @throws ReachError `not_found` when the workflow does not run (any more); `engine_unavailable`
 */
export async function signalEnd(
  { client, namespace }: { client: Client; namespace: string },
  { id, workflowId, signal, value }: { id: string; workflowId: string; signal: string; value: unknown },
): Promise<void> {
  const request = {
    namespace,
    workflowExecution: { workflowId },
    signalName: signal,
    input: { payloads: [defaultPayloadConverter.toPayload(value)] },
    requestId: id,
    identity: 'agent-reach',
  };
  try {
    await bounded(client, () => client.workflowService.signalWorkflowExecution(request));
  } catch (caught) {
    if (isGrpcServiceError(caught) && Number(caught.code) === NOT_FOUND)
      throw new ReachError('not_found', `Workflow ${workflowId} does not run (any more), so it cannot be signalled`, {
        cause: caught,
      });
    throw fromTemporal(caught, 'signal the workflow');
  }
}

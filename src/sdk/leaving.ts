import { ReachError } from '../protocol/reach-error';
import type { AgentHost } from './agent-host';

/** Why an agent's start ends that was told to leave meanwhile. */
export const leftWhileStarting = () =>
  new ReachError(
    'invalid_request',
    'The agent was told to leave (drain or stop) while it was starting, and has left; make a new ReachAgent to join again',
  );

/**
 * What has just started, unless the agent was told to leave meanwhile: who leaves does not wait for it, so it is ended here.
 *
 * @throws ReachError {@link leftWhileStarting}
 */
export async function unlessLeaving<Host extends AgentHost | null>(leaving: AbortSignal, host: Host): Promise<Host> {
  if (!leaving.aborted) return host;
  await host?.drain(0);
  throw leftWhileStarting();
}

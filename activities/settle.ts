import { ReachError } from '../src/protocol/reach-error';
import { assertPlainJson } from '../src/protocol/strict-json';
import type { InvokeOutcome, SettleInput } from '../workflows/messages';
import { assertOutput, count } from './attempt';
import { findAgent, type ActivityDependencies } from './dependencies';
import { invokeFailure } from './failure';

/**
 * The `settle` activity: what a pull agent answered came through the server, past every adapter, so it is
 * checked here as an adapter would have checked it, and counted.
 */
export async function settle(deps: ActivityDependencies, input: SettleInput): Promise<InvokeOutcome> {
  const outcome = check(deps, input);
  for (const attempt of outcome.attempts) count(deps, input, attempt);
  return outcome;
}

function check(deps: ActivityDependencies, input: SettleInput): InvokeOutcome {
  const { outcome } = input;
  if (outcome.kind !== 'answer') return outcome;
  const agent = findAgent(deps.world(), input.agent_name, input.agent_version);
  try {
    assertAnswer(deps, outcome.output);
    if (agent) assertOutput(agent, input.ability, outcome.output);
    return outcome;
  } catch (caught) {
    const error = ReachError.from(caught);
    const attempts = outcome.attempts.map((attempt) => ({ ...attempt, code: error.code, message: error.message }));
    return { ...invokeFailure(error, attempts), received: 'yes' };
  }
}

function assertAnswer(deps: ActivityDependencies, output: unknown): void {
  if (output === null || typeof output !== 'object' || Array.isArray(output)) {
    throw new ReachError('agent_protocol_error', 'The agent answered with something that is not an object');
  }
  try {
    assertPlainJson(output);
  } catch (caught) {
    throw new ReachError('response_schema_mismatch', `The answer cannot be used: ${ReachError.from(caught).message}`);
  }
  if (Buffer.byteLength(JSON.stringify(output)) > deps.maxResponseBytes) {
    throw new ReachError('agent_response_too_large', `The agent's answer is over ${deps.maxResponseBytes} bytes`);
  }
}

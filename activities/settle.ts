import { breakerOutcome } from '../src/policy/breaker';
import { ReachError } from '../src/protocol/reach-error';
import type { AttemptRecord } from '../src/protocol/shapes';
import { assertPlainJson } from '../src/protocol/strict-json';
import type { InvokeOutcome, RetryTerms, SettleInput } from '../workflows/messages';
import { count } from './attempt';
import { findAgent, type ActivityDependencies } from './dependencies';
import { invokeFailure } from './failure';
import { keepPulled } from './large-payloads';
import { decideRetry, releasePermit, withDecision, type RetryDecision } from './retrying';

/**
 * Calls that lost their worker together come back spread over this time, ms: else the one that kills it (W08) meets its
 * neighbours at the next worker as well, and takes them along until none has a retry left.
 */
const LOST_SPREAD_MS = 2_000;

/**
 * The `settle` activity: what a pull agent answered came through the server, past every adapter, so it is
 * checked here as an adapter would have checked it, and counted; a failure learns what comes next.
 */
export async function settle(deps: ActivityDependencies, input: SettleInput): Promise<InvokeOutcome> {
  const outcome = await check(deps, input);
  for (const attempt of outcome.attempts) {
    count(deps, input, attempt);
    tellBreaker(deps, input, attempt);
  }
  const { retrying: terms, agent_name: agentName } = input;
  if (!terms) return outcome;
  if (outcome.kind !== 'failed') {
    releasePermit(deps, agentName, terms);
    return outcome;
  }
  const error = ReachError.fromProblem(outcome.problem);
  const told = new ReachError(error.code, error.message, {
    ...error.options,
    received: outcome.received,
    ...(outcome.lost && { retryAfterMs: Math.round(deps.random() * LOST_SPREAD_MS) }),
  });
  const decision = await decideRetry(deps, { agentName, error: told, terms });
  return withDecision(outcome, await pastBreaker(deps, input, { decision, terms, last: told }));
}

/** A retry asks the breaker again, as one by our own activity does: it may have opened meanwhile, by this very failure. */
async function pastBreaker(
  deps: ActivityDependencies,
  input: SettleInput,
  { decision, terms, last }: { decision: RetryDecision; terms: RetryTerms; last: ReachError },
): Promise<RetryDecision> {
  if (!decision.retry || !input.ticket) return decision;
  const { agent_name: agentName, agent_version: agentVersion, ability } = input;
  const entry = { mark: null, retry: true, budgetMs: terms.attempt_ms };
  try {
    return { ...decision, ticket: await deps.breakers.enter({ agentName, agentVersion, ability }, entry) };
  } catch (caught) {
    releasePermit(deps, agentName, { ...terms, permit: decision.permit });
    const refusal = ReachError.from(caught);
    return { retry: false, error: refusal.with({ last_error: { code: last.code, message: last.message } }) };
  }
}

function tellBreaker(deps: ActivityDependencies, input: SettleInput, attempt: AttemptRecord): void {
  const { agent_name, agent_version, ability, ticket } = input;
  if (!ticket) return;
  const outcome = breakerOutcome(attempt.code ?? null, ticket.mark);
  deps.breakers.report(
    { agentName: agent_name, agentVersion: agent_version, ability },
    ticket,
    outcome,
    attempt.duration_ms,
  );
}

async function check(deps: ActivityDependencies, input: SettleInput): Promise<InvokeOutcome> {
  const { outcome } = input;
  if (outcome.kind !== 'answer') return outcome;
  const agent = findAgent(deps.world(), input.agent_name, input.agent_version);
  try {
    assertAnswer(outcome.output);
    return await keepPulled(deps, outcome, { agent, ability: input.ability });
  } catch (caught) {
    const error = ReachError.from(caught);
    const attempts = outcome.attempts.map((attempt) => ({ ...attempt, code: error.code, message: error.message }));
    return { ...invokeFailure(error, attempts), received: 'yes' };
  }
}

function assertAnswer(output: unknown): void {
  if (output === null || typeof output !== 'object' || Array.isArray(output)) {
    throw new ReachError('agent_protocol_error', 'The agent answered with something that is not an object');
  }
  try {
    assertPlainJson(output);
  } catch (caught) {
    throw new ReachError('response_schema_mismatch', `The answer cannot be used: ${ReachError.from(caught).message}`);
  }
}

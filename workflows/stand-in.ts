import { patched } from '@temporalio/workflow';
import { mayRepeat } from '../src/policy/retry';
import { ERROR_TABLE } from '../src/protocol/error-codes';
import type { JsonObject } from '../src/protocol/shapes';
import { leftMs } from './clock';
import { terminalStatus } from './failures';
import type { InvokeFailure, InvokeOutcome, ReachOutput } from './messages';
import { adopt, route } from './routing';
import { complete, type Run } from './run';

/** Calls the agent that was routed to, and waits for its result where it only accepts. */
type CallToTheEnd = (run: Run) => Promise<Exclude<InvokeOutcome, { kind: 'accepted' }>>;

/** What the ability's fallback answers when it cannot be had (R30); null where none may stand in. */
export async function standIn(run: Run, failure: InvokeFailure, call: CallToTheEnd): Promise<ReachOutput | null> {
  const fallback = run.routed.target.fallback ?? run.input.routed.target.fallback;
  const because = failure.problem.code;
  if (!fallback || !mayStandIn(run, failure)) return null;
  if ('output' in fallback) return complete(run, fixedAnswer(fallback.output as JsonObject), because);
  const { envelope } = run.input;
  if (leftMs(envelope.timeout_ms) <= 1 || !mayBeAsked(run)) return null;
  const failedAt = run.routed;
  const refused = await route(run, run.tried, {
    envelope: { ...envelope, target_agent: fallback.agent, version: undefined },
  });
  const answer = refused ?? (await call(run));
  if (answer.kind === 'answer') return complete(run, answer, because);
  adopt(run, failedAt);
  return null;
}

/** Not for what the caller did wrong, and not while the work may have been done and may not be repeated. */
function mayStandIn({ input, routed }: Run, failure: InvokeFailure): boolean {
  const { code } = failure.problem;
  const { class: errorClass } = ERROR_TABLE[code];
  const terms = { semantics: input.envelope.delivery_semantics, idempotent: routed.target.idempotent };
  const unknown = terminalStatus(failure, mayRepeat(failure.received, terms)) === 'outcome_unknown';
  return !unknown && (errorClass === 'transient' || errorClass === 'degraded' || code === 'worker_lost');
}

/** Another agent may be asked unless the first may have seen a request that may be sent only once, or only to it. */
function mayBeAsked(run: Run): boolean {
  const once = run.input.envelope.delivery_semantics === 'at_most_once';
  return !(once && maybeSeen(run)) && !staysWithAgent(run);
}

/**
 * `exactly_once` never goes to a second agent once a first may have begun: records and fences belong to one agent's name,
 * so that the second could not know of the work (R4). Not so in 0.1, hence the patch.
 */
export function staysWithAgent(run: Run): boolean {
  return run.input.envelope.delivery_semantics === 'exactly_once' && maybeSeen(run) && patched('exactly-once-stays');
}

function maybeSeen({ spent }: Run): boolean {
  return spent.attempts.some(({ received }) => received !== 'no');
}

/** An answer that no agent gave. */
export function fixedAnswer(output: JsonObject): Extract<InvokeOutcome, { kind: 'answer' }> {
  return { kind: 'answer', output, instance: null, attempts: [] };
}

import type { AdapterAnswer, AdapterContext } from '../src/adapters';
import type { Patience } from '../src/payloads';
import { validatePayload } from '../src/protocol/json-schema';
import type { OutputClaim } from '../src/protocol/payload-ref';
import { ReachError, type FieldError } from '../src/protocol/reach-error';
import { capabilityOf } from '../src/protocol/routed-target';
import type { JsonObject } from '../src/protocol/shapes';
import type { AgentVersion } from '../src/protocol/world';
import type { RouteRequest } from '../src/routing';
import type { InvokeInput, InvokeOutcome } from '../workflows/messages';
import type { ActivityDependencies } from './dependencies';

/** An agent's answer, checked; a large one is kept and stands there as a claim. */
export type KeptAnswer = { kind: 'answer'; output: JsonObject; output_claim?: OutputClaim } | { kind: 'accepted' };

/** Whose answer it is. */
interface Answering {
  agent: AgentVersion | undefined;
  ability: string;
  /** How long the store is asked to keep the answer. */
  patience?: Patience;
}

type Deps = Pick<ActivityDependencies, 'payloads'>;

/**
 * The large payload of a call, to be sent on unread; undefined where the envelope has it; why not, when the store does not
 * answer now. @throws ReachError `not_found` when it is gone
 */
export async function payloadOf(
  deps: Deps,
  { envelope }: InvokeInput,
): Promise<AdapterContext['payload'] | ReachError> {
  try {
    return envelope.payload_ref === undefined ? undefined : await deps.payloads.source(envelope.payload_ref);
  } catch (caught) {
    const error = ReachError.from(caught);
    if (isAway(error)) return error;
    throw error;
  }
}

/** A request with its payload, to decide anew by. */
export async function withPayload(deps: Deps, request: RouteRequest): Promise<RouteRequest> {
  const { payload_ref: ref, ...rest } = request;
  return ref === undefined ? request : { ...rest, payload: await deps.payloads.load(ref) };
}

/** The store of large payloads does not answer: nobody was called, and it may be back in a moment. */
export function isAway({ code }: ReachError): boolean {
  return code === 'engine_unavailable';
}

/** Checks an answer against the output schema, and keeps it where it is too large to travel. @throws ReachError `response_schema_mismatch`, `storage_full`, … */
export async function keepAnswer(deps: Deps, answer: AdapterAnswer, who: Answering): Promise<KeptAnswer> {
  if (answer.kind === 'accepted') return answer;
  try {
    if (answer.kind === 'unread') return await keepUnread(deps, answer.content, who);
    if (answer.kind === 'uploaded') return await keepUploaded(deps, answer.ref, who);
    assertOutput(who, answer.output);
    const claim = await deps.payloads.keepOutput(answer.output, answer.bytes, who.patience);
    return { kind: 'answer', ...(claim ? { output: {}, output_claim: claim } : { output: answer.output }) };
  } catch (caught) {
    const error = ReachError.from(caught);
    throw new ReachError(error.code, error.message, { ...error.options, received: 'yes' });
  }
}

/** A pull agent's answer, which came through the server: the same checks, and nothing large goes any further. */
export async function keepPulled(
  deps: Deps,
  outcome: Extract<InvokeOutcome, { kind: 'answer' }>,
  who: Answering,
): Promise<typeof outcome> {
  const { output, output_claim: uploaded, ...rest } = outcome;
  if (!uploaded) {
    assertOutput(who, output);
    const kept = await deps.payloads.keepOutput(output, undefined, who.patience);
    return { ...rest, ...(kept ? { output: {}, output_claim: kept } : { output }) };
  }
  return { ...rest, ...(await keepUploaded(deps, uploaded.ref, who)) };
}

async function keepUploaded(
  deps: Deps,
  ref: string,
  who: Answering,
): Promise<{ kind: 'answer'; output: JsonObject; output_claim: OutputClaim }> {
  const claiming = deps.payloads.claimUploaded(ref, schemaOf(who), who.patience);
  const { claim, errors } = await claiming.catch(notUploaded);
  if (!claim) throw mismatch(who, errors);
  return { kind: 'answer', output: {}, output_claim: claim };
}

async function keepUnread(deps: Deps, content: Buffer, who: Answering): Promise<KeptAnswer> {
  const keeping = deps.payloads.keepAnswer(content, { schema: schemaOf(who) }, who.patience);
  const { claim, errors } = await keeping.catch(asProtocolError);
  if (!claim) throw mismatch(who, errors);
  return { kind: 'answer', output: {}, output_claim: claim };
}

function assertOutput(who: Answering, output: JsonObject): void {
  const schema = schemaOf(who);
  const errors = schema === undefined ? [] : validatePayload(schema, output);
  if (errors.length > 0) throw mismatch(who, errors);
}

function schemaOf({ agent, ability }: Answering) {
  return agent && capabilityOf(agent.descriptor, ability)?.output_schema;
}

function mismatch({ agent, ability }: Answering, errors: FieldError[]): ReachError {
  const first = `${errors[0]?.pointer || '/'} ${errors[0]?.message}`;
  return new ReachError(
    'response_schema_mismatch',
    `The answer of ${agent?.descriptor.name ?? 'the agent'} does not match the output schema of ${ability}: ${first}`,
    { received: 'yes', errors },
  );
}

/** Depth is the one fault of a document that is told as a mismatch, for large answers as for small ones. */
function asProtocolError(caught: unknown): never {
  const error = asTooLarge(caught);
  if (error.code !== 'input_too_deep' && error.code !== 'duplicate_key' && error.code !== 'forbidden_key') throw error;
  const code = error.code === 'input_too_deep' ? 'response_schema_mismatch' : 'agent_protocol_error';
  throw new ReachError(code, `The agent answered with a body that cannot be read: ${error.message}`, {
    received: 'yes',
  });
}

/** Too many values in an answer are the agent's doing, not the caller's. */
function asTooLarge(caught: unknown): ReachError {
  const error = ReachError.from(caught);
  if (error.code !== 'payload_too_large') return error;
  return new ReachError('agent_response_too_large', error.message, { ...error.options, received: 'yes' });
}

function notUploaded(caught: unknown): never {
  const error = asTooLarge(caught);
  if (error.code !== 'not_found') throw error;
  throw new ReachError('agent_protocol_error', 'The agent answered with a reference to content that is not stored');
}

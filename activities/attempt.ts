import { performance } from 'node:perf_hooks';
import { randomBytes } from 'node:crypto';
import type { Adapter, AdapterContext } from '../src/adapters';
import { breakerOutcome } from '../src/policy/breaker';
import { mayRepeat } from '../src/policy/retry';
import { agentCall } from '../src/protocol/agent-call';
import { linkOf } from '../src/protocol/lineage';
import { ReachError } from '../src/protocol/reach-error';
import type { NestedTerms } from '../src/protocol/reach-token';
import { MAX_PAYLOAD_BYTES } from '../src/protocol/limits';
import type { AttemptRecord } from '../src/protocol/shapes';
import type { AgentVersion } from '../src/protocol/world';
import type { InvokeInput } from '../workflows/messages';
import { admit, isTurnedAway, type Admission, type AdmissionRequest } from './admission';
import { findAgent, type ActivityDependencies, type CallSample } from './dependencies';
import { keepAnswer, payloadOf, type KeptAnswer } from './large-payloads';

/**
 * How far the clock of a worker may be behind a gateway's for its reach tokens to work to the reach's end, ms: both may be ten
 * minutes off, each to its side. The token of a reach that is over opens nothing, however long it lasts.
 */
const CLOCKS_APART_MS = 1_200_000;

/**
 * An agent that had less than this, and less than its own timeout, and did not answer says nothing about itself: a caller's haste
 * must not open the breaker that others rely on, ms.
 */
const JUDGED_FROM_MS = 1_000;

/** A store that changes over is waited for so long although the attempt is at its end, ms; the fast path has this and more to spare. */
const KEEP_AT_LEAST_MS = 2_000;

/** The circumstances of one attempt. */
export interface AttemptContext {
  reachId: string;
  runId: string;
  /** When the run began, Unix ms. */
  runStartMs: number;
  /** Number of the attempt in the whole reach, 1 for the first. */
  n: number;
  /** What the attempt may use, ms, asked again after a wait for a place. */
  budgetMs: () => number;
  /** What is left of the whole reach, ms. */
  leftMs: () => number;
  signal: AbortSignal;
  /** Instances that failed this reach before; others are preferred. */
  avoid: string[];
  /** A further attempt of a reach that a breaker has let in already. */
  retry: boolean;
  /** How long it may stand in the agent's queue, ms. */
  patienceMs: number;
}

/** How one attempt went: its record and either the answer or the error; or that it was turned away and nobody was called. */
export type AttemptResult =
  | { kind: 'made'; record: AttemptRecord; answer: KeptAnswer | null; error: ReachError | null }
  | { kind: 'turned_away'; error: ReachError };

/** The attempt was stopped from outside (cancelled, or the worker shuts down) while the agent may have had it. */
export class AttemptStopped extends Error {
  constructor(
    readonly record: AttemptRecord,
    override readonly cause: unknown,
  ) {
    super('the attempt was stopped', { cause });
  }
}

function stopped(
  input: InvokeInput,
  { n }: AttemptContext,
  facts: { startedAt: string; durationMs: number; admission: Admission | null },
): AttemptRecord {
  return {
    n,
    agent_name: input.agent_name,
    agent_version: input.agent_version,
    instance: facts.admission?.instance.instance_id ?? null,
    started_at: facts.startedAt,
    duration_ms: facts.durationMs,
    received: facts.admission ? 'unknown' : 'no',
    code: 'reach_terminal',
    message: 'The reach was cancelled during the attempt',
  };
}

/** Makes one attempt at one instance of the chosen agent, validates the answer, measures and records it. */
export async function makeAttempt(
  deps: ActivityDependencies,
  input: InvokeInput,
  context: AttemptContext,
): Promise<AttemptResult> {
  const startedAt = new Date().toISOString();
  const startedMs = performance.now();
  const durationMs = () => Math.round(performance.now() - startedMs);
  let admission: Admission | null = null;
  let taker: string | null = null;
  let answer: KeptAnswer | null = null;
  let error: ReachError | null = null;
  let givenMs = Number.POSITIVE_INFINITY;
  try {
    const agent = agentOf(deps, input);
    const adapter = adapterOf(deps, agent);
    const payload = await payloadOf(deps, input);
    if (payload instanceof ReachError) return { kind: 'turned_away', error: payload };
    admission = await admit(deps, admissionRequest(input, context, agent));
    givenMs = context.budgetMs();
    if (givenMs < 1) {
      admission.end('neutral', durationMs());
      return { kind: 'turned_away', error: outOfTimeWaiting() };
    }
    const takenBy = (instanceId: string) => void (taker = instanceId);
    answer = await call(deps, input, { ...context, agent, adapter, admission, payload, takenBy });
  } catch (caught) {
    if (context.signal.aborted) {
      admission?.end('neutral', durationMs());
      throw new AttemptStopped(stopped(input, context, { startedAt, durationMs: durationMs(), admission }), caught);
    }
    error = ReachError.from(caught);
    if (!admission && isTurnedAway(error)) return { kind: 'turned_away', error };
  }
  const cutShort = error?.code === 'agent_timeout' && givenMs < Math.min(input.timeout_ms, JUDGED_FROM_MS);
  const told = cutShort ? 'neutral' : breakerOutcome(error?.code ?? null, admission?.ticket.mark ?? null);
  admission?.end(told, durationMs());
  const record: AttemptRecord = {
    n: context.n,
    agent_name: input.agent_name,
    agent_version: input.agent_version,
    instance: taker ?? admission?.instance.instance_id ?? null,
    started_at: startedAt,
    duration_ms: durationMs(),
    received: error ? (error.options.received ?? 'no') : 'yes',
    ...(error && { code: error.code, message: error.message }),
  };
  count(deps, input, record, cutShort);
  return { kind: 'made', record, answer, error };
}

/** What waits too long in a queue is never sent (R25). */
function outOfTimeWaiting(): ReachError {
  return new ReachError('deadline_exceeded', 'The time of the reach ended while it waited for a place at the agent', {
    received: 'no',
  });
}

function agentOf(deps: ActivityDependencies, { agent_name, agent_version }: Called): AgentVersion {
  const agent = findAgent(deps.world(), agent_name, agent_version);
  if (agent) return agent;
  throw new ReachError('no_ready_instance', `${agent_name}@${agent_version} is not registered any more`, {
    received: 'no',
  });
}

function adapterOf(deps: ActivityDependencies, agent: AgentVersion): Adapter {
  const protocol = agent.descriptor.endpoint?.protocol ?? 'http';
  const adapter = deps.adapters.get(protocol);
  if (adapter) return adapter;
  throw new ReachError(
    'agent_protocol_error',
    `${agent.name} speaks ${protocol}, which this release cannot call; register it with protocol http, mq or worker`,
    { received: 'no' },
  );
}

function admissionRequest(input: InvokeInput, context: AttemptContext, agent: AgentVersion): AdmissionRequest {
  const { ability, admission: mark = null } = input;
  const { retry, avoid, signal, patienceMs, reachId: caller } = context;
  const mayWait = input.envelope.mode === 'async';
  return { agent, ability, mark, retry, budgetMs: context.budgetMs(), patienceMs, mayWait, avoid, signal, caller };
}

async function call(
  deps: ActivityDependencies,
  input: InvokeInput,
  context: AttemptContext & {
    agent: AgentVersion;
    adapter: Adapter;
    admission: Admission;
    payload?: AdapterContext['payload'];
    takenBy: NonNullable<AdapterContext['takenBy']>;
  },
): Promise<KeptAnswer> {
  const { reachId, runId, runStartMs, n, signal, agent, adapter, admission } = context;
  const { instance, ticket } = admission;
  const budgetMs = Math.max(1, context.budgetMs());
  const surroundings: AdapterContext = {
    signal,
    budgetMs,
    maxResponseBytes: deps.maxResponseBytes,
    unreadAboveBytes: MAX_PAYLOAD_BYTES,
    ...(context.payload && { payload: context.payload }),
    takenBy: context.takenBy,
    traceparent: `00-${input.trace_id}-${randomBytes(8).toString('hex')}-01`,
    reachToken: deps.tokens.issue({
      reachId,
      runId,
      attempt: n,
      nested: nestedTerms(input, context, budgetMs),
      lifetimeMs: input.share_ms + CLOCKS_APART_MS,
    }),
  };
  const parts = { envelope: input.envelope, reachId, ability: input.ability, agentVersion: input.agent_version };
  const message = agentCall({ ...parts, attempt: n, runStartMs, deadlineMs: budgetMs, bypass: ticket.mark !== null });
  const ended = deps.startCall?.({ ...keyOf(input), instanceId: instance.instance_id });
  const over = deps.callsUnderWay?.begin({ runId, attempt: n }, signal);
  const calledMs = performance.now();
  try {
    const answer = await adapter.invoke(message, { descriptor: agent.descriptor, instance }, surroundings);
    const withinMs = keepWithinMs(input, context, budgetMs - (performance.now() - calledMs));
    return await keepAnswer(deps, answer, { agent, ability: input.ability, patience: { withinMs, signal } });
  } finally {
    over?.();
    ended?.();
  }
}

/**
 * How long the store is asked to keep a finished answer, ms: what is left of the attempt where the work may be done again, and all
 * that is left of the reach where it may not.
 */
function keepWithinMs(
  { envelope, idempotent }: InvokeInput,
  { leftMs }: Pick<AttemptContext, 'leftMs'>,
  attemptLeftMs: number,
): number {
  const again = mayRepeat('yes', { semantics: envelope.delivery_semantics, idempotent });
  return Math.min(leftMs(), again ? Math.max(attemptLeftMs, KEEP_AT_LEAST_MS) : Infinity);
}

/** What the reaches inherit that the agent makes while it works on this attempt (R10). */
function nestedTerms(
  input: InvokeInput,
  { reachId, runId, leftMs }: Pick<AttemptContext, 'reachId' | 'runId' | 'leftMs'>,
  budgetMs: number,
): NestedTerms {
  const { lineage, envelope, agent_name, agent_version, ability, trace_id } = input;
  return {
    inheritance: {
      root: lineage?.root ?? reachId,
      tree: input.tree ?? { run: runId, limit: envelope.max_total_retries },
      parent: reachId,
      parent_run: runId,
      chain: [...(lineage?.chain ?? []), linkOf(agent_name, ability)],
      agent_name,
      agent_version,
      trace_id,
      context_id: envelope.context_id ?? null,
      group: envelope.group,
    },
    budgetMs: Math.floor(budgetMs),
    reachMs: Math.max(Math.floor(budgetMs), Math.floor(leftMs())),
    issuedMs: new Date().getTime(),
  };
}

type Called = Pick<InvokeInput, 'agent_name' | 'agent_version' | 'ability'>;

function keyOf({ agent_name, agent_version, ability }: Called) {
  return { agentName: agent_name, agentVersion: agent_version, ability };
}

/** 4xx but 408/429 are the caller's fault and do not count against the agent; malformed answers do (T01). */
const NEUTRAL = new Set([
  'agent_rejected',
  'agent_auth_unconfigured',
  'no_ready_instance',
  'callback_url_forbidden',
  'internal',
  // Of the platform's store of large payloads.
  'not_found',
  'storage_full',
  'engine_unavailable',
]);

/** Counts an attempt in the shared statistics, and for the ejection of its instance; `cutShort`: it had too little time to be judged. */
export function count(deps: ActivityDependencies, call: Called, record: AttemptRecord, cutShort = false): void {
  const neutral = cutShort || (record.code && NEUTRAL.has(record.code));
  const failed: CallSample['outcome'] = neutral ? 'neutral' : 'failure';
  const judged = cutShort ? 'neutral' : breakerOutcome(record.code ?? null, null);
  if (record.instance !== null && judged !== 'neutral') {
    const { agentName, agentVersion } = keyOf(call);
    deps.reportInstance({ agentName, agentVersion, instanceId: record.instance, failed: judged === 'failure' });
  }
  deps.recordCall({
    ...keyOf(call),
    instanceId: record.instance,
    durationMs: record.duration_ms,
    outcome: record.code ? failed : 'ok',
    ...(record.code && { code: record.code }),
  });
}

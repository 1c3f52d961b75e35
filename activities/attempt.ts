import { performance } from 'node:perf_hooks';
import { randomBytes } from 'node:crypto';
import type { AdapterAnswer, AdapterContext } from '../src/adapters';
import { agentCall } from '../src/protocol/agent-call';
import { validatePayload } from '../src/protocol/json-schema';
import { ReachError } from '../src/protocol/reach-error';
import { capabilityOf } from '../src/protocol/routed-target';
import type { AttemptRecord, InstanceState, JsonObject } from '../src/protocol/shapes';
import type { AgentVersion } from '../src/protocol/world';
import type { InvokeInput } from '../workflows/messages';
import { findAgent, type ActivityDependencies, type CallSample } from './dependencies';

/** The circumstances of one attempt. */
export interface AttemptContext {
  reachId: string;
  runId: string;
  /** Number of the attempt in the whole reach, 1 for the first. */
  n: number;
  budgetMs: number;
  signal: AbortSignal;
  /** Instances that failed this reach before; others are preferred. */
  avoid: string[];
}

/** How one attempt went: its record and either the answer or the error. */
export interface AttemptResult {
  record: AttemptRecord;
  answer: AdapterAnswer | null;
  error: ReachError | null;
}

/** Makes one attempt at one instance of the chosen agent, validates the answer, measures and records it. */
export async function makeAttempt(
  deps: ActivityDependencies,
  input: InvokeInput,
  context: AttemptContext,
): Promise<AttemptResult> {
  const startedAt = new Date().toISOString();
  const startedMs = performance.now();
  const where: { instance: InstanceState | null } = { instance: null };
  let answer: AdapterAnswer | null = null;
  let error: ReachError | null = null;
  try {
    answer = await call(deps, input, { ...context, where });
  } catch (caught) {
    if (context.signal.aborted) throw caught;
    error = ReachError.from(caught);
  }
  const record: AttemptRecord = {
    n: context.n,
    agent_name: input.agent_name,
    agent_version: input.agent_version,
    instance: where.instance?.instance_id ?? null,
    started_at: startedAt,
    duration_ms: Math.round(performance.now() - startedMs),
    received: error ? (error.options.received ?? 'no') : 'yes',
    ...(error && { code: error.code, message: error.message }),
  };
  count(deps, input, record);
  return { record, answer, error };
}

async function call(
  deps: ActivityDependencies,
  input: InvokeInput,
  context: AttemptContext & { where: { instance: InstanceState | null } },
): Promise<AdapterAnswer> {
  const agent = findAgent(deps.world(), input.agent_name, input.agent_version);
  const instance = agent && pick(deps, input, context.avoid);
  if (!agent || !instance) {
    throw new ReachError(
      'no_ready_instance',
      `No instance of ${input.agent_name}@${input.agent_version} is ready now`,
      { received: 'no' },
    );
  }
  context.where.instance = instance;
  const protocol = agent.descriptor.endpoint?.protocol ?? 'http';
  const adapter = deps.adapters.get(protocol);
  if (!adapter) {
    throw new ReachError(
      'agent_protocol_error',
      `${agent.name} speaks ${protocol}, which this release cannot call; register it with protocol http or worker`,
      { received: 'no' },
    );
  }
  const { reachId, runId, n, budgetMs, signal } = context;
  const parts = { envelope: input.envelope, reachId, ability: input.ability, agentVersion: input.agent_version };
  const surroundings: AdapterContext = {
    signal,
    budgetMs,
    maxResponseBytes: deps.maxResponseBytes,
    traceparent: `00-${input.trace_id}-${randomBytes(8).toString('hex')}-01`,
    reachToken: await deps.tokens.issue({ reachId, runId, attempt: n, lifetimeMs: input.share_ms }),
  };
  const ended = deps.startCall?.({ ...keyOf(input), instanceId: instance.instance_id });
  try {
    const call = agentCall({ ...parts, attempt: n, deadlineMs: budgetMs });
    const answer = await adapter.invoke(call, { descriptor: agent.descriptor, instance }, surroundings);
    if (answer.kind === 'answer') assertOutput(agent, input.ability, answer.output);
    return answer;
  } finally {
    ended?.();
  }
}

function pick(deps: ActivityDependencies, input: InvokeInput, avoid: string[]): InstanceState | null {
  const { agent_name, agent_version, ability } = input;
  const fresh = deps.router.pickInstance(agent_name, agent_version, ability, avoid);
  if (fresh || avoid.length === 0) return fresh;
  return deps.router.pickInstance(agent_name, agent_version, ability);
}

/** @throws ReachError `response_schema_mismatch` with the findings */
export function assertOutput(agent: AgentVersion, ability: string, output: JsonObject): void {
  const schema = capabilityOf(agent.descriptor, ability)?.output_schema;
  const errors = schema === undefined ? [] : validatePayload(schema, output);
  if (errors.length === 0) return;
  const first = `${errors[0]?.pointer || '/'} ${errors[0]?.message}`;
  throw new ReachError(
    'response_schema_mismatch',
    `The answer of ${agent.name} does not match the output schema of ${ability}: ${first}`,
    { received: 'yes', errors },
  );
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
]);

/** Counts an attempt in the shared statistics. */
export function count(deps: ActivityDependencies, call: Called, record: AttemptRecord): void {
  const failed: CallSample['outcome'] = record.code && NEUTRAL.has(record.code) ? 'neutral' : 'failure';
  deps.recordCall({
    ...keyOf(call),
    instanceId: record.instance,
    durationMs: record.duration_ms,
    outcome: record.code ? failed : 'ok',
    ...(record.code && { code: record.code }),
  });
}

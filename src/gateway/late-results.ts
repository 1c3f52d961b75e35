import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { agentText } from '../protocol/agent-text';
import { validatePayload } from '../protocol/json-schema';
import type { Payloads } from '../payloads';
import type { ReachTokenClaims, ReachTokens } from '../protocol/reach-token';
import { ReachError, type FieldError } from '../protocol/reach-error';
import { lateResultSchema } from '../protocol/result';
import { capabilityOf } from '../protocol/routed-target';
import type { Json, JsonObject } from '../protocol/shapes';
import { validate } from '../protocol/validation';
import type { World } from '../protocol/world';
import type { ReachTree } from '../registry';
import { resultSignal, type LateResult, type ReachMemo } from '../../workflows/messages';
import type { ReachReader } from './reach-reader';
import { currentAttempt } from './reach-view';
import { bounded, fromTemporal } from './temporal-errors';

type LateFailure = Extract<LateResult['result'], { error: unknown }>;

/** Takes the results of agents that had answered "accepted", and hands them to the waiting reach as a signal. */
export class LateResults {
  constructor(
    private readonly options: {
      client: Client;
      reader: ReachReader;
      tokens: ReachTokens;
      world: () => World;
      tree: Pick<ReachTree, 'sign' | 'noteLateResult'>;
      payloads: Pick<Payloads, 'keepOutput' | 'keepAnswer'>;
    },
  ) {}

  /** @throws ReachError `unauthorized`, `invalid_request`, `response_schema_mismatch`, `reach_terminal` */
  async deliver(id: string, token: string | undefined, body: Json): Promise<void> {
    const claims = await this.options.tokens.verify(token ?? '', id);
    const result = validate(lateResultSchema, body) as LateResult['result'];
    const memo = await this.wanted(id, claims);
    if ('output' in result)
      this.assertOutput(memo.agent_name, memo.agent_version, { ability: memo.ability, output: result.output });
    await this.signal(id, claims, 'error' in result ? legible(result) : await this.claimed(result));
  }

  /** A body over 1 MiB: read off the event loop, and kept as it is. @throws ReachError as {@link deliver}; `storage_full` */
  async deliverLarge(id: string, token: string | undefined, content: Buffer): Promise<void> {
    const claims = await this.options.tokens.verify(token ?? '', id);
    const memo = await this.wanted(id, claims);
    const schema = this.schemaOf(memo.agent_name, memo.agent_version, memo.ability);
    const { claim, errors } = await this.options.payloads
      .keepAnswer(content, { schema, unwrap: 'output', strict: {} })
      .catch(tooLarge);
    if (!claim) throw mismatch(memo.ability, errors);
    await this.signal(id, claims, { output: {}, output_claim: claim });
  }

  /** What is too large for a signal goes by reference. */
  private async claimed(result: LateResult['result']): Promise<LateResult['result']> {
    const claim = 'output' in result ? await this.options.payloads.keepOutput(result.output).catch(tooLarge) : null;
    return claim ? { output: {}, output_claim: claim } : result;
  }

  private async signal(id: string, claims: ReachTokenClaims, result: LateResult['result']): Promise<void> {
    const { client } = this.options;
    const handle = client.workflow.getHandle(id, claims.runId);
    try {
      await bounded(client, () =>
        handle.signal(resultSignal, { run_id: claims.runId, attempt: claims.attempt, result }),
      );
    } catch (caught) {
      const error = fromTemporal(caught, 'deliver the result');
      if (error.code !== 'not_found') throw error;
      await this.discard(claims);
      throw over(id, 'the result was not used');
    }
  }

  /**
   * A sign that the agent still works: without one for its `ack_timeout_ms` it gets the message again (R5). Says so, too, when
   * there is nothing left to work for.
   *
   * @throws ReachError `unauthorized`, `reach_terminal` when the reach is over, cancelled, or has gone on without this attempt
   */
  async progress(id: string, token: string | undefined): Promise<void> {
    const claims = await this.options.tokens.verify(token ?? '', id);
    const description = await this.options.reader.describe(id);
    const { runId, attempt } = claims;
    const { timeout_ms: ttlMs } = description.memo as ReachMemo;
    const cancelling = description.raw.workflowExtendedInfo?.cancelRequested;
    if (cancelling || !isOpen(description, claims)) throw over(id, 'stop working on it');
    await this.options.tree.sign({ reachId: id, runId, attempt, ttlMs });
  }

  /** What the reach keeps of itself. @throws ReachError `reach_terminal` for a result that nobody waits for */
  private async wanted(id: string, claims: ReachTokenClaims): Promise<ReachMemo> {
    const description = await this.options.reader.describe(id);
    if (isOpen(description, claims)) return description.memo as ReachMemo;
    await this.discard(claims);
    throw over(id, 'the result was not used');
  }

  /** Leaves a trace of it; that there is none while etcd is away harms nobody. */
  private async discard({ reachId, runId, attempt }: ReachTokenClaims): Promise<void> {
    const note = { at: new Date().toISOString(), attempt, run_id: runId };
    await this.options.tree.noteLateResult(reachId, note).catch(() => undefined);
  }

  private assertOutput(
    agentName: string,
    agentVersion: string,
    { ability, output }: { ability: string; output: JsonObject },
  ): void {
    const schema = this.schemaOf(agentName, agentVersion, ability);
    const errors = schema === undefined ? [] : validatePayload(schema, output);
    if (errors.length > 0) throw mismatch(ability, errors);
  }

  private schemaOf(agentName: string, agentVersion: string, ability: string) {
    const agent = this.options
      .world()
      .agents.find(({ name, version }) => name === agentName && version === agentVersion);
    return agent && capabilityOf(agent.descriptor, ability)?.output_schema;
  }
}

/** What an agent says of its failure is told to callers and operators: only what prints, as of every other answer. */
function legible({ error }: LateFailure): LateFailure {
  return { error: { ...error, message: agentText(error.message) || 'The agent gave no reason' } };
}

function mismatch(ability: string, errors: FieldError[]): ReachError {
  return new ReachError(
    'response_schema_mismatch',
    `The result does not match the output schema of ${ability}; correct it and send it again`,
    { errors },
  );
}

/** The agent is the sender here: what it sends is a body that is too large. */
function tooLarge(caught: unknown): never {
  const error = ReachError.from(caught);
  throw error.code === 'agent_response_too_large'
    ? new ReachError('payload_too_large', error.message, {
        ...error.options,
        errors: [{ pointer: '/output', message: 'is too large' }],
      })
    : error;
}

function over(id: string, so: string): ReachError {
  return new ReachError('reach_terminal', `The reach is already over, or has gone on without this attempt; ${so}`, {
    extra: { reach_id: id },
  });
}

/** Whether a reach may still wait for the result of this attempt. */
function isOpen(description: WorkflowExecutionDescription, { runId, attempt }: ReachTokenClaims): boolean {
  const runs = description.status.name === 'RUNNING' && description.runId === runId;
  return runs && attempt >= currentAttempt(description);
}

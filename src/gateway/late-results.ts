import type { Client } from '@temporalio/client';
import { validatePayload } from '../protocol/json-schema';
import type { ReachTokens } from '../protocol/reach-token';
import { ReachError } from '../protocol/reach-error';
import { lateResultSchema } from '../protocol/result';
import { capabilityOf } from '../protocol/routed-target';
import type { Json, JsonObject } from '../protocol/shapes';
import { validate } from '../protocol/validation';
import type { World } from '../protocol/world';
import { resultSignal, type LateResult } from '../../workflows/messages';
import type { ReachReader } from './reach-reader';
import { bounded, fromTemporal } from './temporal-errors';

/** Takes the results of agents that had answered "accepted", and hands them to the waiting reach as a signal. */
export class LateResults {
  constructor(
    private readonly options: { client: Client; reader: ReachReader; tokens: ReachTokens; world: () => World },
  ) {}

  /** @throws ReachError `unauthorized`, `invalid_request`, `response_schema_mismatch`, `reach_terminal` */
  async deliver(id: string, token: string | undefined, body: Json): Promise<void> {
    const claims = await this.options.tokens.verify(token ?? '', id);
    const result = validate(lateResultSchema, body) as LateResult['result'];
    const memo = await this.options.reader.memo(id);
    if ('output' in result)
      this.assertOutput(memo.agent_name, memo.agent_version, { ability: memo.ability, output: result.output });
    const { client } = this.options;
    const handle = client.workflow.getHandle(id, claims.runId);
    try {
      await bounded(client, () =>
        handle.signal(resultSignal, { run_id: claims.runId, attempt: claims.attempt, result }),
      );
    } catch (caught) {
      const error = fromTemporal(caught, 'deliver the result');
      if (error.code !== 'not_found') throw error;
      throw new ReachError('reach_terminal', 'The reach is already over; the result was not used', {
        extra: { reach_id: id },
      });
    }
  }

  private assertOutput(
    agentName: string,
    agentVersion: string,
    { ability, output }: { ability: string; output: JsonObject },
  ): void {
    const agent = this.options
      .world()
      .agents.find(({ name, version }) => name === agentName && version === agentVersion);
    const schema = agent && capabilityOf(agent.descriptor, ability)?.output_schema;
    const errors = schema === undefined ? [] : validatePayload(schema, output);
    if (errors.length > 0) {
      throw new ReachError(
        'response_schema_mismatch',
        `The result does not match the output schema of ${ability}; correct it and send it again`,
        { errors },
      );
    }
  }
}

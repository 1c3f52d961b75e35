/** Removing one version of an agent (R21): `DELETE /v1/agents/{name}?version=`. */
import { z } from 'zod';
import { normalizeVersion } from './versions';

/** The query of `DELETE /v1/agents/{name}`. An empty version is refused: it must not mean all of them. */
export const agentRemovalQuery = z.strictObject({
  version: z
    .string()
    .max(128)
    .refine((text) => normalizeVersion(text) !== null, 'must be a full semantic version such as 1.4.0')
    .overwrite((text) => normalizeVersion(text) ?? text)
    .optional()
    .meta({ description: 'Only this version; default: the agent with all its versions.', example: '1.2.0' }),
});

/** What went. */
export const agentVersionRemovalSchema = z
  .object({
    agent_name: z.string(),
    agent_version: z.string(),
    instances: z.array(z.string()).meta({ description: 'Ids of the instances that were registered under it.' }),
    breakers: z
      .array(z.string())
      .meta({ description: 'Abilities whose circuit breaker was not closed, or held by an operator; forgotten now.' }),
    versions_left: z
      .array(z.string())
      .meta({ description: 'What is left, highest first; empty: the agent is gone.', example: ['1.3.0'] }),
    warnings: z.array(z.string()).meta({ description: 'What still names the version, such as routes.' }),
  })
  .meta({ id: 'AgentVersionRemoval' });

/** The answer to removing one version. */
export type AgentVersionRemoval = z.output<typeof agentVersionRemovalSchema>;

/** The decision log over HTTP: what may be asked, what a replay may change, and what it reports (R23). */
import { z } from 'zod';
import { decisionSchema } from './agent-schemas';
import { MAX_RECORDED_CANDIDATES } from './limits';
import { diagnosisSchema, errorCodeSchema } from './result';
import { routeListSchema } from './route-table-schema';
import { ERROR_CODES } from './error-codes';

/** Decisions that one replay over HTTP looks at when it does not say: the newest. */
export const MAX_REPLAYED_DECISIONS = 100_000;
/** Changed decisions that a report lists when it is not told. */
export const DEFAULT_LISTED_CHANGES = 50;
const MAX_LISTED_CHANGES = 1_000;
const MAX_PAGE = 200;

const text = z
  .string()
  .min(1)
  .max(256)
  .regex(/^[^\p{Cc}]*$/u, 'control characters are not allowed');
const instant = z.iso.datetime({ offset: true });
const share = z.number().min(0).max(1);
const weight = z.number().min(0).max(1_000);
/** `name` or `name#version`. */
const agentRef = z.string().regex(/^[a-z0-9_-]{1,64}(#.{1,64})?$/, 'an agent name, or name#version');

const filterFields = {
  agent: agentRef.optional().meta({ description: 'Chosen, or named by a request that was refused.' }),
  ability: text.optional(),
  reason: text.optional().meta({ description: 'The `reason` of a diagnosis, or words of `route_reason`.' }),
  reach: text.optional().meta({ description: 'Every decision that this reach took.' }),
  code: z.enum(ERROR_CODES).optional().meta({ description: 'Refused with this code.' }),
  since: instant.optional().meta({ description: 'Made at this time or later.' }),
  until: instant.optional().meta({ description: 'Made before this time.' }),
};

/** Which decisions; what is absent does not matter. */
export const decisionFilterSchema = z.strictObject(filterFields).meta({ id: 'DecisionFilter' });
export type DecisionFilter = z.infer<typeof decisionFilterSchema>;

/** The query of `GET /v1/decisions`. */
export const decisionQuerySchema = z.strictObject({
  ...filterFields,
  inputs: z
    .enum(['true', 'false'])
    .default('false')
    .meta({ description: 'Also what each decision was made of: what a replay needs.' }),
  cursor: z.base64url().max(512).optional(),
  limit: z.coerce.number().int().min(1).max(MAX_PAGE).default(50),
});

const weightsSchema = z
  .strictObject({
    semantic_similarity: weight.optional(),
    latency_score: weight.optional(),
    reliability_score: weight.optional(),
  })
  .refine((weights) => Object.keys(weights).length > 0, 'name at least one factor');

const breakerStateSchema = z.strictObject({
  agent: agentRef,
  ability: text.optional().meta({ description: 'Default: all of them.' }),
  state: z.enum(['open', 'closed', 'bypass']),
  share: share.optional().meta({ description: 'Of the traffic, with `bypass`. Default 0.05.' }),
});

const breakersSchema = z.strictObject({
  ignore: z.boolean().optional().meta({ description: 'All breakers are closed.' }),
  bypass_share: share.optional().meta({ description: 'What a breaker in `bypass` lets pass.' }),
  recovery_share: share.optional().meta({ description: 'What a recovering breaker lets pass.' }),
  states: z.array(breakerStateSchema).max(1_000).optional().meta({ description: 'The last one that fits counts.' }),
});
export type BreakerChanges = z.infer<typeof breakersSchema>;

/** What is changed; what is absent stays as it was when each decision was made. */
export const replayChangesSchema = z
  .strictObject({
    weights: weightsSchema.optional().meta({ description: 'Relative; factors not named keep theirs (R17).' }),
    breakers: breakersSchema.optional(),
    routes: routeListSchema.optional().meta({ description: 'The canary table, as a whole (R20).' }),
    without: z.array(agentRef).max(1_000).optional().meta({ description: 'These agents had not been there.' }),
    agents: z
      .array(z.looseObject({ name: z.string(), version: z.string() }))
      .max(1_000)
      .optional()
      .meta({ description: 'Descriptors: these agents, and nobody else, had been there.' }),
    embeddings: z.strictObject({ model: text }).optional().meta({
      description: 'Compare the kept texts again with this model at the configured endpoint; over HTTP only.',
    }),
  })
  .meta({ id: 'ReplayChanges' });
export type ReplayChanges = z.infer<typeof replayChangesSchema>;

/** The body of `POST /v1/decisions:replay`. */
export const replayRequestSchema = z
  .strictObject({
    filter: decisionFilterSchema.default({}),
    changes: replayChangesSchema.default({}),
    limit: z.number().int().min(0).max(MAX_LISTED_CHANGES).default(DEFAULT_LISTED_CHANGES).meta({
      description: 'Changed decisions that are listed; all are counted.',
    }),
    max_decisions: z.number().int().min(1).max(MAX_REPLAYED_DECISIONS).default(MAX_REPLAYED_DECISIONS),
  })
  .meta({ id: 'ReplayRequest' });
export type ReplayRequestDraft = z.input<typeof replayRequestSchema>;

const outcomeSchema = z.object({
  agent_name: z.string().nullable(),
  agent_version: z.string().nullable(),
  ability: z.string().nullable(),
  score: z.number().nullable(),
  route_reason: z.string(),
  code: errorCodeSchema.optional().meta({ description: 'Set where nobody takes it.' }),
});
/** Who takes a request, or why nobody does. */
export type ReplayedOutcome = z.infer<typeof outcomeSchema>;

const changeSchema = z
  .object({
    decision_id: z.string(),
    at: z.string(),
    reach_id: z.string().optional(),
    before: outcomeSchema,
    after: outcomeSchema,
  })
  .meta({ id: 'ReplayedChange' });
/** A decision that would have been another one. */
export type ReplayedChange = z.infer<typeof changeSchema>;

/** What would have changed. The same decisions and changes give the same report, byte for byte. */
export const replayReportSchema = z
  .object({
    changes: replayChangesSchema,
    decisions: z.int().meta({ description: 'Looked at.' }),
    from: z.string().nullable().meta({ description: 'Time of the oldest.' }),
    to: z.string().nullable(),
    recomputed: z.int(),
    changed: z.int(),
    newly_refused: z.int().meta({ description: 'Of the changed: somebody took it, nobody would.' }),
    newly_taken: z.int().meta({ description: 'Of the changed: nobody took it, somebody would.' }),
    not_recomputed: z.object({
      count: z.int(),
      reasons: z.array(z.object({ reason: z.string(), count: z.int() })),
    }),
    agents: z
      .array(
        z.object({
          agent_name: z.string(),
          agent_version: z.string(),
          before: z.int(),
          after: z.int(),
          share_before: share,
          share_after: share,
        }),
      )
      .meta({ description: 'Who takes how many of the recomputed ones, most moved first.' }),
    score_change: z.object({ mean: z.number(), mean_absolute: z.number(), max_absolute: z.number() }).meta({
      description: "The winner's score after minus before, where somebody takes it both times.",
    }),
    listed: z.array(changeSchema),
    cut: z.string().optional().meta({ description: 'Set where not all decisions that fit were looked at: why.' }),
  })
  .meta({ id: 'ReplayReport' });
export type ReplayReport = z.infer<typeof replayReportSchema>;

/** One item of the log; `inputs` are plain JSON here, described in the documentation. */
export const loggedDecisionSchema = z
  .object({
    ...decisionSchema.shape,
    made_by: z.string(),
    chosen: decisionSchema.shape.chosen.nullable(),
    strategy: decisionSchema.shape.strategy.nullable(),
    code: errorCodeSchema.optional(),
    diagnosis: diagnosisSchema.optional(),
    weights: z.object({ semantic_similarity: share, latency_score: share, reliability_score: share }),
    inputs: z.looseObject({}).optional(),
  })
  .meta({
    id: 'LoggedDecision',
    description: `At most ${MAX_RECORDED_CANDIDATES} candidates, best first, and the chosen one.`,
  });

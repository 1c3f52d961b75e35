import type { z } from 'zod';
import type {
  candidateSchema,
  decisionSchema,
  exclusionSchema,
  instanceSchema,
  abilityStatsSchema,
} from './agent-schemas';
import { ReachError, type FieldError, type Problem } from './reach-error';
import {
  lateResultSchema,
  problemSchema,
  type attemptSchema,
  type diagnosisSchema,
  type fieldErrorSchema,
  type linksSchema,
  type receiptSchema,
  type reachStatusSchema,
  type resultSchema,
  type traceSchema,
} from './result';
import type {
  AttemptRecord,
  Candidate,
  Decision,
  Diagnosis,
  Exclusion,
  InstanceState,
  ReachLinks,
  ReachResult,
  ReachStatus,
  Receipt,
  Trace,
} from './shapes';
import type { AbilityStats } from './world';

/** True only when each type can stand for the other, key by key: a key that one lacks fails, optional or not. */
type Same<A, B> = [A] extends [B]
  ? [B] extends [A]
    ? [keyof A] extends [keyof B]
      ? [keyof B] extends [keyof A]
        ? true
        : false
      : false
    : false
  : false;

/** A missing or changed field in either place is a compile error here. */
const agree: {
  receipt: Same<z.infer<typeof receiptSchema>, Receipt>;
  result: Same<z.infer<typeof resultSchema>, ReachResult>;
  status: Same<z.infer<typeof reachStatusSchema>, ReachStatus>;
  links: Same<z.infer<typeof linksSchema>, ReachLinks>;
  attempt: Same<z.infer<typeof attemptSchema>, AttemptRecord>;
  problem: Same<z.infer<typeof problemSchema>, Problem>;
  fieldError: Same<z.infer<typeof fieldErrorSchema>, FieldError>;
  diagnosis: Same<z.infer<typeof diagnosisSchema>, Diagnosis>;
  trace: Same<z.infer<typeof traceSchema>, Trace>;
  decision: Same<z.infer<typeof decisionSchema>, Decision>;
  candidate: Same<z.infer<typeof candidateSchema>, Candidate>;
  exclusion: Same<z.infer<typeof exclusionSchema>, Exclusion>;
  instance: Same<z.infer<typeof instanceSchema>, InstanceState>;
  stats: Same<z.infer<typeof abilityStatsSchema>, AbilityStats>;
} = {
  receipt: true,
  result: true,
  status: true,
  links: true,
  attempt: true,
  problem: true,
  fieldError: true,
  diagnosis: true,
  trace: true,
  decision: true,
  candidate: true,
  exclusion: true,
  instance: true,
  stats: true,
};

describe('schemas and shapes', () => {
  it('agree (checked by the compiler)', () => {
    expect(Object.values(agree)).not.toContain(false);
  });

  it('a problem document of ours fits its schema', () => {
    const error = new ReachError('ability_not_found', 'Nobody offers "x"', {
      diagnosis: { reason: 'name_mismatch', message: 'no such name', closest: [{ name: 'y', why: 'spelling' }] },
      retryAfterMs: 100,
      extra: { decision_id: 'd', details: { limit: 1 } },
    });
    expect(problemSchema.parse(error.toProblem())).toEqual(error.toProblem());
  });

  it.each([
    [{ output: { a: 1 } }, true],
    [{ error: { code: 'agent_error', message: 'db down' } }, true],
    [{ error: { code: 'invalid_request', message: 'x' } }, false],
    [{ error: { code: 'agent_not_found', message: 'x' } }, false],
    [{ output: {}, error: { code: 'agent_error', message: 'x' } }, false],
    [{ output: [] }, false],
    [{}, false],
  ])('late result %j → %s', (body, isValid) => {
    expect(lateResultSchema.safeParse(body).success).toBe(isValid);
  });
});

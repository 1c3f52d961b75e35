import type { ContextConflict } from './context';
import { ERROR_TABLE, isErrorCode, isRetryableByCaller, type ErrorCode } from './error-codes';
import type { AttemptRecord, Diagnosis } from './shapes';

/** One finding about a document: where (RFC 6901 JSON pointer), what, and how to mend it. */
export interface FieldError {
  pointer: string;
  message: string;
  fix?: string;
}

/** Everything a {@link ReachError} may carry besides its code and message. */
export interface ReachErrorOptions {
  /** Findings by JSON pointer, for bad input. */
  errors?: FieldError[];
  diagnosis?: Diagnosis;
  /** When to try again, milliseconds. */
  retryAfterMs?: number;
  /** Whether the agent may have seen the request; decides if another attempt is allowed. */
  received?: 'no' | 'yes' | 'unknown';
  /** Further members of the problem document; never secrets, stacks or internal addresses. */
  extra?: Partial<ProblemContext>;
  /** Goes to the log, never to a caller. */
  cause?: unknown;
}

/** What is known of the reach and its decision when it fails; shown in problem documents. */
export interface ProblemContext {
  reach_id: string;
  agent_name: string;
  agent_version: string;
  route_reason: string;
  decision_id: string;
  trace_id: string;
  attempts: AttemptRecord[];
  last_error: { code: ErrorCode; message: string };
  /** How the reach ended, where the code alone does not say: after `outcome_unknown` the work may have been done. */
  reach_status: 'dead_lettered' | 'expired' | 'outcome_unknown';
  details: Record<string, unknown>;
  /** With `context_conflict`: every field that was not at its base version, and what it is now (R32). */
  conflicts: ContextConflict[];
}

const CONTEXT_KEYS = Object.keys({
  reach_id: 0,
  agent_name: 0,
  agent_version: 0,
  route_reason: 0,
  decision_id: 0,
  trace_id: 0,
  attempts: 0,
  last_error: 0,
  reach_status: 0,
  details: 0,
  conflicts: 0,
} satisfies Record<keyof ProblemContext, 0>) as (keyof ProblemContext)[];

/** RFC 9457 problem document, `application/problem+json`. */
export interface Problem extends Partial<ProblemContext> {
  type: string;
  title: string;
  status: number;
  code: ErrorCode;
  detail: string;
  retryable: boolean;
  degraded: boolean;
  errors?: FieldError[];
  diagnosis?: Diagnosis;
  retry_after_ms?: number;
}

/** The only error class that crosses rooms. Its code decides status, class and retries through the table. */
export class ReachError extends Error {
  override readonly name = 'ReachError';

  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly options: ReachErrorOptions = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
  }

  /** Why nobody could be chosen, or called: the nearest names, who is kept out by what and since when (R22). */
  get diagnosis(): Diagnosis | undefined {
    return this.options.diagnosis;
  }

  /** When the same request may work, ms; undefined where nobody knows or it will not. */
  get retryAfterMs(): number | undefined {
    return this.options.retryAfterMs;
  }

  /**
   * Turns anything caught into a ReachError. What is not ours becomes `internal`: its message is kept as
   * `cause` for the log and never shown.
   */
  static from(caught: unknown): ReachError {
    if (caught instanceof ReachError) return caught;
    return new ReachError('internal', 'An unexpected error; the log has it under this request id', { cause: caught });
  }

  /** Rebuilds an error from a problem document, as the SDK and the gateway receive it. */
  static fromProblem(problem: Problem): ReachError {
    const code = isErrorCode(problem.code) ? problem.code : 'internal';
    const { detail, errors, diagnosis, retry_after_ms: retryAfterMs } = problem;
    const extra = Object.fromEntries(
      CONTEXT_KEYS.filter((key) => problem[key] !== undefined).map((key) => [key, problem[key]]),
    );
    return new ReachError(code, detail, { errors, diagnosis, retryAfterMs, extra });
  }

  /** The problem document for this error. */
  toProblem(): Problem {
    const { status, class: errorClass, title } = ERROR_TABLE[this.code];
    const { errors, diagnosis, retryAfterMs, extra } = this.options;
    return {
      type: `urn:agent-reach:error:${this.code}`,
      title,
      status,
      code: this.code,
      detail: this.message,
      retryable: isRetryableByCaller(this.code) && extra?.reach_status !== 'outcome_unknown',
      degraded: errorClass === 'degraded',
      ...extra,
      ...(errors && { errors }),
      ...(diagnosis && { diagnosis }),
      ...(retryAfterMs !== undefined && { retry_after_ms: retryAfterMs }),
    };
  }

  /** The same error with what is known of the reach added. */
  with(extra: Partial<ProblemContext>): ReachError {
    return new ReachError(this.code, this.message, { ...this.options, extra: { ...this.options.extra, ...extra } });
  }
}

/**
 * The one table of error codes (R26): what a code means for HTTP, for retries and for the caller.
 *
 * Every other place that needs to know whether something may be retried or which status it has reads it
 * here. The list is closed; `Record<ErrorCode, …>` makes a missing row a compile error.
 */

/** How a failure is treated.
 * - `deterministic`: the same request would fail again; never retried, dead-lettered at once.
 * - `transient`: worth another attempt within budget.
 * - `degraded`: a fast failure by protection (breaker, bulkhead); the request itself is fine (R30).
 * - `terminal`: the reach is over, nothing is retried any more.
 * - `platform`: Agent-Reach or an engine is at fault; nothing was accepted.
 */
export type ErrorClass = 'deterministic' | 'transient' | 'degraded' | 'terminal' | 'platform';

/** One row of the table. `status` is the HTTP status of the problem response. */
export interface ErrorRow {
  readonly status: number;
  readonly class: ErrorClass;
  readonly title: string;
}

const row = (status: number, errorClass: ErrorClass, title: string): ErrorRow => ({ status, class: errorClass, title });

export const ERROR_TABLE = {
  invalid_request: row(400, 'deterministic', 'The request is not valid'),
  invalid_descriptor: row(400, 'deterministic', 'The descriptor is not valid'),
  duplicate_key: row(400, 'deterministic', 'A key appears twice in the same object'),
  input_too_deep: row(400, 'deterministic', 'The document is nested too deeply'),
  forbidden_key: row(400, 'deterministic', 'The document uses a reserved key'),
  callback_url_forbidden: row(400, 'deterministic', 'The address may not be called'),
  weights_invalid: row(400, 'deterministic', 'The weights are not valid'),
  schema_unsafe: row(400, 'deterministic', 'The JSON Schema cannot be evaluated safely'),
  token_env_forbidden: row(400, 'deterministic', 'The environment variable may not be used as a token'),
  payload_schema_mismatch: row(422, 'deterministic', "The payload does not match the ability's input schema"),
  message_type_not_accepted: row(422, 'deterministic', 'No agent accepts this message type'),
  unauthorized: row(401, 'deterministic', 'Credentials are missing or not valid'),
  forbidden: row(403, 'deterministic', 'The caller may not do this'),
  not_found: row(404, 'deterministic', 'There is no such thing'),
  ability_not_found: row(404, 'deterministic', 'Nobody offers this ability'),
  agent_not_found: row(404, 'deterministic', 'There is no such agent'),
  version_not_found: row(404, 'deterministic', 'No version fits'),
  idempotency_key_reused: row(422, 'deterministic', 'The idempotency key was used with another body'),
  name_collision: row(409, 'deterministic', 'Another name reads the same'),
  stale_epoch: row(409, 'deterministic', 'A newer registration has taken over'),
  reach_terminal: row(409, 'deterministic', 'The reach is already over'),
  context_conflict: row(409, 'deterministic', 'The context has changed meanwhile'),
  lease_expired: row(410, 'deterministic', 'The lease has expired'),
  payload_too_large: row(413, 'deterministic', 'The payload is too large'),
  version_exists: row(409, 'deterministic', 'This version exists with other content'),
  storage_full: row(507, 'transient', 'The storage is full'),
  worker_lost: row(502, 'terminal', 'The worker was lost while it ran the attempt'),
  unsupported_media_type: row(415, 'deterministic', 'The media type or charset is not supported'),
  delegation_loop: row(409, 'deterministic', 'The chain of reaches loops or is too deep'),
  retry_budget_exhausted: row(503, 'degraded', 'The retry budget is used up'),
  agent_rejected: row(502, 'deterministic', 'The agent refused the request'),
  response_schema_mismatch: row(502, 'deterministic', "The agent's answer does not match its output schema"),
  agent_protocol_error: row(502, 'deterministic', 'The agent did not speak its protocol'),
  agent_response_too_large: row(502, 'deterministic', "The agent's answer is too large"),
  agent_auth_unconfigured: row(503, 'deterministic', "The agent's credentials are not configured here"),
  agent_error: row(502, 'transient', 'The agent failed'),
  agent_unavailable: row(503, 'transient', 'The agent cannot be reached'),
  agent_timeout: row(504, 'transient', 'The agent did not answer in time'),
  agent_busy: row(503, 'transient', 'The agent is busy'),
  no_ready_instance: row(503, 'transient', 'No agent is ready'),
  all_instances_unavailable: row(503, 'transient', 'All instances are unavailable'),
  circuit_open: row(503, 'degraded', 'The circuit breaker is open'),
  overloaded: row(503, 'degraded', 'The agent is at its limit'),
  degraded_mode: row(503, 'degraded', 'The platform runs in degraded mode'),
  rate_limited: row(429, 'transient', 'Too many requests'),
  deadline_exceeded: row(504, 'terminal', 'The deadline has passed'),
  engine_unavailable: row(503, 'platform', 'Temporal or etcd cannot be reached'),
  internal: row(500, 'platform', 'Internal error'),
} as const satisfies Record<string, ErrorRow>;

/** The closed list of error codes. */
export type ErrorCode = keyof typeof ERROR_TABLE;

/** All codes, in the table's order. */
export const ERROR_CODES = Object.keys(ERROR_TABLE) as [ErrorCode, ...ErrorCode[]];

/** True when `value` is one of the closed list of codes (own rows only: `toString` is none). */
export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === 'string' && Object.hasOwn(ERROR_TABLE, value);
}

/** True when a failure with this code is worth another attempt within the budget. */
export function isTransient(code: ErrorCode): boolean {
  return ERROR_TABLE[code].class === 'transient';
}

/** What `retryable` says to a caller: the same request may succeed later without being changed. */
export function isRetryableByCaller(code: ErrorCode): boolean {
  return (
    ERROR_TABLE[code].class === 'transient' || ERROR_TABLE[code].class === 'degraded' || code === 'engine_unavailable'
  );
}

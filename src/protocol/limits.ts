/** Limits of the wire contract, in one place. Sizes in bytes, durations in milliseconds. */

/** Largest request body and largest agent answer before claim checks exist: 1 MiB each way. */
export const MAX_PAYLOAD_BYTES = 1_048_576;
/** Deepest allowed nesting of any document. */
export const MAX_DEPTH = 64;
export const MAX_TIMEOUT_MS = 604_800_000;
export const DEFAULT_TIMEOUT_MS = 10_000;
/** Default deadline of a durable hand-over (`mode: async`). */
export const DEFAULT_ASYNC_TIMEOUT_MS = 86_400_000;
/** How long a sync POST holds the connection unless `Prefer` says otherwise. */
export const DEFAULT_WAIT_MS = 2_000;
/** Longest a long poll may be held. */
export const MAX_WAIT_SEC = 60;
export const DEFAULT_MAX_TOTAL_RETRIES = 10;
export const DEFAULT_MAX_RETRY = 3;
export const MAX_RETRY_LIMIT = 10;
export const DEFAULT_LEASE_TTL_SEC = 30;
export const HEARTBEAT_INTERVAL_MS = 3_000;
/** Below this remaining lease time the SDK renews at once (R13). */
export const RENEW_BELOW_SEC = 8;
/** Longest attempt that may run as a local activity. */
export const MAX_LOCAL_ATTEMPT_MS = 5_000;
/** Text searched for abilities may not be longer. */
export const MAX_SEARCH_BYTES = 16_384;
export const DEFAULT_TENANT = 'default';
/** Candidates of a decision kept in the history; the rest is counted. */
export const MAX_RECORDED_CANDIDATES = 10;
/** Largest descriptor, YAML or JSON. */
export const MAX_DESCRIPTOR_BYTES = 262_144;
/** Values one YAML descriptor may hold; its parser takes some 20 µs for each. */
export const MAX_YAML_NODES = 20_000;
/** Weight of all patterns of one schema, as `patternWeight` counts it. */
export const MAX_SCHEMA_PATTERN_WEIGHT = 10_000;
/** Weight of all patterns of one descriptor; equal schemas count once. */
export const MAX_DESCRIPTOR_PATTERN_WEIGHT = 20_000;
/** Largest JSON Schema of an agent, as compact JSON. */
export const MAX_SCHEMA_BYTES = 65_536;
/** Largest event, attributes and data as compact JSON: with its subscribers it must fit into one history event. */
export const MAX_EVENT_BYTES = 98_304;

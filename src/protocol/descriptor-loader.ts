/** From the text of a descriptor to a checked one (R12, R15, R39): syntax, shape, versions, names, schemas. */
import { descriptorSchema, type Capability, type Descriptor } from './descriptor';
import { findingsError, validate } from './findings';
import { faultError } from './json-faults';
import { isWellFormed } from './json-rules';
import { compileSchema, validatePayload, type CompiledSchema } from './json-schema';
import { MAX_DESCRIPTOR_BYTES, MAX_DESCRIPTOR_PATTERN_WEIGHT } from './limits';
import type { BodyFormat } from './media-type';
import { skeleton } from './nearest';
import { queueFindings } from './queue-endpoint';
import { ReachError, type FieldError } from './reach-error';
import { fallbackOf } from './routed-target';
import { tooHeavy, unsafe } from './schema-guard';
import type { Json } from './shapes';
import { assertPlainJson, parseJsonStrict } from './strict-json';
import { parseYaml } from './yaml-document';

/** A descriptor that may be registered, with what its author should know. */
export interface LoadedDescriptor {
  descriptor: Descriptor;
  warnings: string[];
}

/** What the rest of the platform is set to, as far as a descriptor should fit it. */
export interface LoadOptions {
  /** `breaker.window_sec`; default 120. */
  breakerWindowSec?: number;
}

const WHAT = 'the descriptor';
const DEFAULT_BREAKER_WINDOW_SEC = 120;

/**
 * Parses and checks a descriptor.
 * @throws ReachError `invalid_descriptor` with every finding by JSON pointer, or the more specific
 * `duplicate_key`, `input_too_deep`, `forbidden_key`, `schema_unsafe`, `name_collision`, `payload_too_large`.
 */
export function parseDescriptor(
  input: Uint8Array | string,
  format: BodyFormat,
  options: LoadOptions = {},
): LoadedDescriptor {
  const bytes = typeof input === 'string' ? Buffer.byteLength(input) : input.byteLength;
  if (bytes > MAX_DESCRIPTOR_BYTES) {
    throw new ReachError(
      'payload_too_large',
      `${WHAT} is ${bytes} bytes, more than ${MAX_DESCRIPTOR_BYTES}; shorten it`,
    );
  }
  if (format === 'json') {
    return checkDescriptor(parseJsonStrict(input, { errorCode: 'invalid_descriptor', what: WHAT }), options);
  }
  const { value, findings, warnings } = parseYaml(decodeText(input), { what: WHAT });
  const loaded = checkDescriptor(value, { ...options, before: findings });
  return { ...loaded, warnings: [...warnings, ...loaded.warnings] };
}

/** The same checks for a descriptor that is already data, as an SDK has it. @throws as {@link parseDescriptor}. */
export function checkDescriptor(
  value: unknown,
  options: LoadOptions & { before?: readonly FieldError[] } = {},
): LoadedDescriptor {
  assertPlainJson(value, { errorCode: 'invalid_descriptor', what: WHAT });
  const rules = { code: 'invalid_descriptor', what: WHAT, yaml: true, before: options.before } as const;
  const descriptor = validate(descriptorSchema, value, rules);
  checkNames(descriptor.capabilities);
  const warnings = checkSchemas(descriptor.capabilities);
  checkFallbacks(descriptor);
  const misplaced = queueFindings(descriptor);
  if (misplaced.length > 0) throw findingsError(misplaced, { code: 'invalid_descriptor' });
  return { descriptor, warnings: [...warnings, ...healthWarnings(descriptor, options)] };
}

function decodeText(input: Uint8Array | string): string {
  const text = typeof input === 'string' ? input.replace(/^\ufeff/, '') : decodeUtf8(input);
  if (isWellFormed(text)) return text;
  throw faultError(
    { kind: 'invalid', pointer: '', message: 'contains half of a surrogate pair' },
    { errorCode: 'invalid_descriptor', what: WHAT },
  );
}

function decodeUtf8(input: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(input);
  } catch (cause) {
    throw new ReachError('invalid_descriptor', `${WHAT} is not valid UTF-8; save it as UTF-8`, { cause });
  }
}

/** Two abilities of one agent that read the same would be told apart by machines only (R15). */
function checkNames(capabilities: readonly Capability[]): void {
  const seen = new Map<string, { name: string; index: number }>();
  capabilities.forEach(({ name }, index) => {
    const form = skeleton(name);
    const other = seen.get(form);
    if (other === undefined) return void seen.set(form, { name, index });
    const message =
      other.name === name
        ? `appears twice (${name})`
        : `reads the same as ${other.name} at /capabilities/${other.index}/name (${name})`;
    const finding = { pointer: `/capabilities/${index}/name`, message, fix: 'rename one of them' };
    throw findingsError([finding], { code: 'name_collision' });
  });
}

/** Compiles every schema once, here and not on a request's path; findings point into the descriptor. */
function checkSchemas(capabilities: readonly Capability[]): string[] {
  const distinct = new Set<CompiledSchema>();
  let weight = 0;
  return capabilities.flatMap((capability, index) =>
    (['input_schema', 'output_schema'] as const).flatMap((key) => {
      const schema = capability[key];
      if (schema === undefined) return [];
      const pointer = `/capabilities/${index}/${key}`;
      const compiled = compileAt(pointer, schema);
      if (!distinct.has(compiled)) weight += compiled.patternWeight;
      distinct.add(compiled);
      if (weight > MAX_DESCRIPTOR_PATTERN_WEIGHT) throw unsafe({ pointer, ...tooHeavy('descriptor') });
      return compiled.warnings.map((warning) => `${pointer}${warning}`);
    }),
  );
}

/** A fallback that could never stand in is found here, not when it is needed (R30). */
function checkFallbacks({ name, capabilities }: Descriptor): void {
  const findings = capabilities.flatMap((capability, index) => {
    const fallback = fallbackOf(capability);
    const pointer = `/capabilities/${index}/fallback`;
    if (!fallback) return [];
    if ('agent' in fallback) {
      const itself = fallback.agent.split('#')[0] === name;
      const fix = 'name another agent that has the same ability, or give an answer';
      return itself ? [{ pointer, message: `names this agent itself (${fallback.agent})`, fix }] : [];
    }
    const { output_schema: schema } = capability;
    const wrong = schema === undefined ? [] : validatePayload(schema, fallback.output);
    return wrong.map((finding) => ({
      pointer: `${pointer}${finding.pointer}`,
      message: `does not match the output schema: ${finding.message}`,
      fix: 'give an answer that callers can use as if the agent had given it',
    }));
  });
  if (findings.length > 0) throw findingsError(findings, { code: 'invalid_descriptor' });
}

function compileAt(place: string, schema: Extract<Json, object> | boolean): CompiledSchema {
  try {
    return compileSchema(schema as Parameters<typeof compileSchema>[0]);
  } catch (error) {
    const { code, options } = ReachError.from(error);
    const findings = (options.errors ?? []).map((finding) => ({ ...finding, pointer: `${place}${finding.pointer}` }));
    throw findings.length > 0 ? findingsError(findings, { code }) : error;
  }
}

/** A health check slower than a quarter of the breaker's window lets the breaker act on old news (R39). */
function healthWarnings({ health_check: check }: Descriptor, options: LoadOptions): string[] {
  if (check === undefined) return [];
  const longest = (options.breakerWindowSec ?? DEFAULT_BREAKER_WINDOW_SEC) / 4;
  const warnings: string[] = [];
  if (check.interval_sec > longest) {
    warnings.push(
      `/health_check/interval_sec is ${check.interval_sec} s, more than a quarter of the breaker window; use ${longest} s or less`,
    );
  }
  if (check.timeout_sec >= check.interval_sec) {
    warnings.push(
      `/health_check/timeout_sec (${check.timeout_sec} s) should be shorter than interval_sec (${check.interval_sec} s)`,
    );
  }
  return warnings;
}

/**
 * Agents' JSON Schemas (2020-12): compiled safely at registration, run on payloads and answers.
 * A schema is untrusted input: it cannot fetch, stall, or change what it validates. `default` is an annotation here.
 */
import { createHash } from 'node:crypto';
import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020';
import { canonicalJson } from './identity';
import { describeValue } from './json-rules';
import { escapePointerToken } from './json-pointer';
import { closestNames } from './nearest';
import { ReachError, type FieldError } from './reach-error';
import { compileWithAjv, metaSchemaErrors, runValidator } from './schema-engine';
import { guardSchema, unsafe, type JsonSchema } from './schema-guard';
import type { Json } from './shapes';

export { routingText } from './routing-text';
export type { JsonSchema } from './schema-guard';

/** A schema that is ready to run. */
export interface CompiledSchema {
  /** Findings about a value; empty when it fits. The value is never changed. */
  check(value: unknown): FieldError[];
  /** Keywords that are ignored, for the person who registers. */
  warnings: readonly string[];
  /** Weight of all its patterns; what it costs to keep. */
  patternWeight: number;
}

const MAX_FINDINGS = 20;
/** All findings are collected for payloads up to this size; beyond it the first is enough (and cheap). */
const DETAILED_BYTES = 16_384;
/** Weight of all schemas kept by content: about 50 MB of heap at worst. */
const MAX_CACHED_WEIGHT = 300_000;
/** What any compiled schema weighs, however small. */
const BASE_WEIGHT = 100;

/** By content, least recently used first; by identity, for the hot path. */
const byContent = new Map<string, { compiled: CompiledSchema; weight: number }>();
let cachedWeight = 0;
const byIdentity = new WeakMap<object, CompiledSchema>();

/**
 * Compiles a schema, or finds it compiled. Call it at registration: the first time costs milliseconds.
 * @throws ReachError `invalid_descriptor` for what is no schema, `schema_unsafe` for one that may not be run.
 */
export function compileSchema(schema: JsonSchema): CompiledSchema {
  const known = typeof schema === 'object' ? byIdentity.get(schema) : undefined;
  if (known !== undefined) return known;
  const canonical = canonicalJson(schema);
  const hash = createHash('sha256').update(canonical).digest('base64');
  const compiled = byContent.get(hash)?.compiled ?? compile(schema);
  keep(hash, compiled, BASE_WEIGHT + canonical.length / 10 + compiled.patternWeight);
  if (typeof schema === 'object') byIdentity.set(schema, compiled);
  return compiled;
}

/** Puts an entry last and drops the first ones until the rest is light enough. */
function keep(hash: string, compiled: CompiledSchema, weight: number): void {
  drop(hash);
  byContent.set(hash, { compiled, weight });
  cachedWeight += weight;
  for (const oldest of byContent.keys()) {
    if (cachedWeight <= MAX_CACHED_WEIGHT) return;
    drop(oldest);
  }
}

function drop(hash: string): void {
  cachedWeight -= byContent.get(hash)?.weight ?? 0;
  byContent.delete(hash);
}

/** Findings about a payload or an answer under a schema; empty when it fits. @throws as {@link compileSchema}. */
export function validatePayload(schema: JsonSchema, value: unknown): FieldError[] {
  return compileSchema(schema).check(value);
}

function compile(schema: JsonSchema): CompiledSchema {
  const { schema: guarded, warnings, patternWeight } = guardSchema(schema);
  const invalid = metaSchemaErrors(schema);
  if (invalid.length > 0) throw invalidSchema(onePerPlace(toFindings(invalid)));
  const quick = compileGuarded(guarded, false);
  runValidator(quick, {}); // a schema that refers to itself in place fails here, not at the first call
  let detailed: ValidateFunction | undefined;
  return {
    warnings,
    patternWeight,
    check(value) {
      const first = runValidator(quick, value);
      if (first.length === 0) return [];
      if (JSON.stringify(value)?.length > DETAILED_BYTES) return toFindings(first);
      detailed ??= compileGuarded(guarded, true);
      return toFindings(runValidator(detailed, value));
    },
  };
}

function compileGuarded(schema: JsonSchema, allErrors: boolean): ValidateFunction {
  try {
    return compileWithAjv(schema, allErrors);
  } catch (error) {
    if (error instanceof ReachError) throw error;
    const { missingRef, message } = error as Error & { missingRef?: string };
    if (missingRef === undefined) throw invalidSchema([{ pointer: '', message: `cannot be compiled: ${message}` }]);
    throw unsafe({
      pointer: '',
      message: `refers to ${missingRef}, which is not part of it`,
      fix: 'put shared schemas under $defs; nothing is ever fetched',
    });
  }
}

function invalidSchema(findings: FieldError[]): ReachError {
  const [first] = findings;
  return new ReachError(
    'invalid_descriptor',
    `${first!.pointer || 'the schema'} ${first!.message}; send JSON Schema 2020-12`,
    { errors: findings },
  );
}

/** The meta-schema's alternatives each complain about the same place; the first says enough. */
function onePerPlace(findings: FieldError[]): FieldError[] {
  return [...new Map(findings.toReversed().map((finding) => [finding.pointer, finding])).values()].toReversed();
}

/** ajv's errors, one finding per place and rule; those that only sum up others are left out. */
function toFindings(errors: ErrorObject[]): FieldError[] {
  const telling = errors.filter(({ keyword }) => keyword !== 'if' && keyword !== '$ref');
  return telling.slice(0, MAX_FINDINGS).map(toFinding);
}

function toFinding(error: ErrorObject): FieldError {
  const { instancePath: pointer, keyword, params, message = 'does not fit', data } = error;
  switch (keyword) {
    case 'required':
    case 'dependentRequired':
      return { pointer: `${pointer}/${escapePointerToken(params.missingProperty as string)}`, message: 'is missing' };
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return unknownProperty(error);
    case 'enum':
      return { pointer, message: `must be one of ${short(params.allowedValues as Json)} (got ${describeValue(data)})` };
    case 'const':
      return { pointer, message: `must be ${short(params.allowedValue as Json)} (got ${describeValue(data)})` };
    case 'false schema':
      return { pointer, message: 'is not allowed' };
    default:
      return { pointer, message: `${message} (got ${describeValue(data)})` };
  }
}

function unknownProperty({ instancePath, params, parentSchema }: ErrorObject): FieldError {
  const key = (params.additionalProperty ?? params.unevaluatedProperty) as string;
  const properties: unknown = parentSchema?.properties;
  const known = typeof properties === 'object' && properties !== null ? Object.keys(properties) : [];
  const [near] = closestNames(key, known, 1);
  return {
    pointer: `${instancePath}/${escapePointerToken(key)}`,
    message: 'is not a known key',
    ...(near && { fix: `did you mean ${near.name}?` }),
  };
}

function short(value: Json): string {
  const text = JSON.stringify(value);
  return text.length > 200 ? `${text.slice(0, 197)}…` : text;
}

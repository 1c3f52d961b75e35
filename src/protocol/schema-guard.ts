/**
 * Makes an agent's JSON Schema safe to compile and run: bounded in size, only keywords we know, patterns
 * that RE2 takes, and a cost on every subschema so that evaluation is bounded whatever the payload.
 */
import { closestNames } from './nearest';
import { escapePointerToken } from './json-pointer';
import type { PlainObject } from './json-rules';
import { MAX_SCHEMA_BYTES, MAX_SCHEMA_PATTERN_WEIGHT } from './limits';
import { ReachError, type FieldError } from './reach-error';
import { compilePattern, patternWeight } from './safe-pattern';
import type { Json, JsonObject } from './shapes';

/** A schema as an agent declares it. */
export type JsonSchema = JsonObject | boolean;

/** Subschemas one schema may have; compile time is linear in it. */
const MAX_SUBSCHEMAS = 1_000;
/** The keyword by which the evaluation of a subschema is paid for. */
export const COST_KEYWORD = 'x-agent-reach-cost';

type Place = 'schema' | 'list' | 'map' | 'dependencies' | 'value';

/** JSON Schema 2020-12 (and `definitions`, `dependencies` of older drafts): what each keyword holds. */
const KEYWORDS: Readonly<Record<string, Place>> = {
  $schema: 'value',
  $id: 'value',
  $ref: 'value',
  $anchor: 'value',
  $dynamicRef: 'value',
  $dynamicAnchor: 'value',
  $defs: 'map',
  definitions: 'map',
  properties: 'map',
  patternProperties: 'map',
  dependentSchemas: 'map',
  dependencies: 'dependencies',
  additionalProperties: 'schema',
  propertyNames: 'schema',
  items: 'schema',
  contains: 'schema',
  not: 'schema',
  if: 'schema',
  then: 'schema',
  else: 'schema',
  unevaluatedItems: 'schema',
  unevaluatedProperties: 'schema',
  allOf: 'list',
  anyOf: 'list',
  oneOf: 'list',
  prefixItems: 'list',
  type: 'value',
  enum: 'value',
  const: 'value',
  multipleOf: 'value',
  maximum: 'value',
  exclusiveMaximum: 'value',
  minimum: 'value',
  exclusiveMinimum: 'value',
  maxLength: 'value',
  minLength: 'value',
  pattern: 'value',
  format: 'value',
  maxItems: 'value',
  minItems: 'value',
  uniqueItems: 'value',
  maxContains: 'value',
  minContains: 'value',
  maxProperties: 'value',
  minProperties: 'value',
  required: 'value',
  dependentRequired: 'value',
};
/** Annotations: legal, and nothing to evaluate. */
const ANNOTATIONS = new Set([
  'title',
  'description',
  'default',
  'examples',
  'example',
  'deprecated',
  'readOnly',
  'writeOnly',
  '$comment',
  '$vocabulary',
  'contentEncoding',
  'contentMediaType',
  'contentSchema',
]);
const KNOWN = [...Object.keys(KEYWORDS), ...ANNOTATIONS];

/** A schema ready to compile. */
export interface GuardedSchema {
  schema: JsonSchema;
  /** Keywords that mean nothing, by pointer. */
  warnings: string[];
  /** Weight of all its patterns. */
  patternWeight: number;
}

/**
 * Copies a schema (the caller's is never touched) with only what is evaluated.
 * @throws ReachError `schema_unsafe`: too large, too many subschemas, a pattern that cannot be run safely,
 * or patterns that are too heavy together.
 */
export function guardSchema(schema: JsonSchema): GuardedSchema {
  const bytes = Buffer.byteLength(JSON.stringify(schema));
  if (bytes > MAX_SCHEMA_BYTES)
    throw unsafe({
      pointer: '',
      message: `is ${bytes} bytes, more than ${MAX_SCHEMA_BYTES}`,
      fix: 'make the schema smaller',
    });
  const guard: Guard = { warnings: [], subschemas: 0, patternWeight: 0 };
  const copy = copySchema(schema, '', guard) as JsonSchema;
  return { schema: copy, warnings: guard.warnings, patternWeight: guard.patternWeight };
}

interface Guard {
  warnings: string[];
  subschemas: number;
  patternWeight: number;
}

function copySchema(schema: Json, pointer: string, guard: Guard): Json {
  if (schema === null || typeof schema !== 'object' || Array.isArray(schema)) return schema;
  if (++guard.subschemas > MAX_SUBSCHEMAS) {
    throw unsafe({
      pointer,
      message: `is subschema number ${MAX_SUBSCHEMAS + 1}`,
      fix: `use at most ${MAX_SUBSCHEMAS}`,
    });
  }
  const copy: JsonObject = {};
  for (const [keyword, value] of Object.entries(schema)) {
    const place = Object.hasOwn(KEYWORDS, keyword) ? KEYWORDS[keyword] : undefined;
    const at = `${pointer}/${escapePointerToken(keyword)}`;
    if (place === undefined) warnUnknown(keyword, at, guard);
    else copy[keyword] = copyPart(place, value, at, guard);
  }
  if (typeof schema.pattern === 'string') checkPattern(schema.pattern, `${pointer}/pattern`, guard);
  for (const key of keysOf(schema.patternProperties))
    checkPattern(key, `${pointer}/patternProperties/${escapePointerToken(key)}`, guard);
  copy[COST_KEYWORD] = cost(schema);
  return copy;
}

function copyPart(place: Place, value: Json, pointer: string, guard: Guard): Json {
  if (place === 'value') return value;
  if (place === 'schema') return copySchema(value, pointer, guard);
  if (place === 'list')
    return Array.isArray(value) ? value.map((item, index) => copySchema(item, `${pointer}/${index}`, guard)) : value;
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, copySchema(item, `${pointer}/${escapePointerToken(key)}`, guard)]),
  );
}

function warnUnknown(keyword: string, pointer: string, guard: Guard): void {
  if (keyword.startsWith('x-') || ANNOTATIONS.has(keyword)) return;
  const [near] = closestNames(keyword, KNOWN, 1);
  guard.warnings.push(
    `${pointer} is no keyword of JSON Schema 2020-12 and is ignored${near ? `; did you mean ${near.name}?` : ''}`,
  );
}

function checkPattern(pattern: string, pointer: string, guard: Guard): void {
  guard.patternWeight += patternWeight(pattern);
  if (guard.patternWeight > MAX_SCHEMA_PATTERN_WEIGHT) throw unsafe({ pointer, ...tooHeavy('schema') });
  try {
    compilePattern(pattern);
  } catch (error) {
    throw unsafe({
      pointer,
      message: (error as Error).message,
      fix: 'use a pattern without look-around and back references',
    });
  }
}

/** The finding about patterns that are each fine and together too heavy to compile and keep. */
export function tooHeavy(whole: 'schema' | 'descriptor'): Omit<FieldError, 'pointer'> {
  return {
    message: `brings the patterns of one ${whole} over their common limit`,
    fix: 'use fewer patterns, and maxLength instead of large repetitions',
  };
}

const keysOf = (value: Json | undefined): string[] =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? Object.keys(value) : [];

/** What one evaluation costs: 1, and more for lists that are gone through (enum, required, properties). */
function cost(schema: PlainObject): number {
  let entries = 0;
  for (const value of Object.values(schema)) {
    if (Array.isArray(value)) entries += value.length;
    else if (value !== null && typeof value === 'object') entries += Object.keys(value).length;
  }
  return 1 + (entries >> 3);
}

/** The error for a schema that may not be run. */
export function unsafe(finding: FieldError): ReachError {
  const { pointer, message, fix } = finding;
  const where = pointer === '' ? 'the schema' : pointer;
  return new ReachError('schema_unsafe', `${where} ${message}${fix === undefined ? '' : `; ${fix}`}`, {
    errors: [finding],
  });
}

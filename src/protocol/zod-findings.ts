/** zod's issues as findings people can act on: RFC 6901 pointer, what is wrong and what was got, how to mend it. */
import type { z } from 'zod';
import { describeValue, type PlainObject } from './json-rules';
import { toPointer } from './json-pointer';
import { closestNames } from './nearest';
import type { FieldError } from './reach-error';

type Issue = z.core.$ZodIssue;
type Schema = z.core.$ZodType;

/** Where findings come from: the schema tells known keys, the value tells what was got. */
export interface FindingSource {
  schema?: Schema;
  value: unknown;
  /** YAML: text must be quoted, so messages ask for a quoted string. */
  yaml?: boolean;
}

const WORDS: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  record: 'an object',
};

/** Every finding of a failed parse, in document order of zod's report. */
export function findingsOf(error: z.core.$ZodError, source: FindingSource): FieldError[] {
  return error.issues.flatMap((issue) => issueFindings(issue, [], source));
}

function issueFindings(issue: Issue, prefix: PropertyKey[], source: FindingSource): FieldError[] {
  const path = [...prefix, ...issue.path];
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => unknownKey(key, path, source));
    case 'invalid_union':
      return unionFindings(issue, path, source);
    case 'invalid_key':
    case 'invalid_element':
      return issue.issues.map((inner) => ({
        pointer: toPointer(path),
        message: `has a key that ${message(inner, undefined, source)}`,
      }));
    default: {
      const got = valueAt(source.value, path);
      const text = message(issue, got, source);
      return [{ pointer: toPointer(path), message: text, ...fixFor(issue, got) }];
    }
  }
}

function message(issue: Issue, got: unknown, source: FindingSource): string {
  const suffix = got === undefined ? '' : ` (got ${describeValue(got)})`;
  switch (issue.code) {
    case 'invalid_type':
      if (got === undefined && (issue.expected as string) === 'nonoptional')
        return 'is missing; any JSON value will do';
      return typeMessage(issue.expected, got, source);
    case 'invalid_value':
      return `${got === undefined ? 'is missing; it must' : 'must'} be ${list(issue.values.map((value) => JSON.stringify(value)))}${suffix}`;
    case 'too_small':
      return `${bound(issue.origin, 'at least', issue.minimum, issue.inclusive)}${suffix}`;
    case 'too_big':
      return `${bound(issue.origin, 'at most', issue.maximum, issue.inclusive)}${issue.origin === 'string' ? '' : suffix}`;
    case 'invalid_format':
      return `${plain(issue.message)}${suffix}`;
    default:
      return issue.message.startsWith('must') && (got === null || typeof got !== 'object')
        ? `${issue.message}${suffix}`
        : issue.message;
  }
}

function typeMessage(expected: string, got: unknown, source: FindingSource): string {
  if (got === undefined) return `is missing; it must be ${WORDS[expected] ?? expected}`;
  const isRetyped = source.yaml === true && expected === 'string' && (got === null || typeof got !== 'object');
  const wanted = isRetyped ? 'a quoted string' : (WORDS[expected] ?? expected);
  return `must be ${wanted} (got ${describeValue(got)})`;
}

function bound(origin: string, side: string, limit: number | bigint, inclusive = true): string {
  if (origin === 'string') return `must have ${side} ${limit} characters`;
  if (origin === 'array' || origin === 'set') return `must have ${side} ${limit} items`;
  return inclusive ? `must be ${side} ${limit}` : `must be ${side === 'at least' ? 'more' : 'less'} than ${limit}`;
}

/** Our own schemas put a phrase as the message of a pattern; zod's default text starts with a capital. */
function plain(text: string): string {
  if (!text.startsWith('Invalid')) return /^(must|is|contains)\b/.test(text) ? text : `must be: ${text}`;
  return 'has not the right form';
}

function list(words: string[]): string {
  return words.length === 1 ? words[0]! : `one of ${words.join(', ')}`;
}

function fixFor(issue: Issue, got: unknown): { fix?: string } {
  if (issue.code === 'invalid_value' && typeof got === 'string') {
    const options = issue.values.filter((value) => typeof value === 'string');
    const [near] = closestNames(got, options, 1);
    return near ? { fix: `did you mean ${near.name}?` } : {};
  }
  if (issue.code === 'invalid_type' && got !== undefined && issue.expected === 'string' && typeof got !== 'object') {
    return { fix: 'put quotes around it' };
  }
  return {};
}

function unknownKey(key: string, path: PropertyKey[], source: FindingSource): FieldError {
  const known = source.schema === undefined ? [] : knownKeys(schemaAt(source.schema, path));
  const [near] = closestNames(key, known, 1);
  if (known.length === 0)
    return { pointer: toPointer([...path, key]), message: 'is not a known key', fix: 'leave it out' };
  const fix = near ? `did you mean ${near.name}?` : `known keys: ${known.join(', ')}`;
  return { pointer: toPointer([...path, key]), message: 'is not a known key', fix };
}

/** Of a union's branches, the one that accepts the value's type and complains least is what was meant. */
function unionFindings(
  issue: Extract<Issue, { code: 'invalid_union' }>,
  path: PropertyKey[],
  source: FindingSource,
): FieldError[] {
  const deep = issue.errors.filter(
    (branch) => !branch.some((inner) => inner.code === 'invalid_type' && inner.path.length === 0),
  );
  const [best] = (deep.length > 0 ? deep : []).sort((a, b) => a.length - b.length);
  if (best !== undefined) return best.flatMap((inner) => issueFindings(inner, path, source));
  const expected = issue.errors
    .flat()
    .flatMap((inner) => (inner.code === 'invalid_type' ? [WORDS[inner.expected] ?? inner.expected] : []));
  const got = valueAt(source.value, path);
  const options =
    'options' in issue && Array.isArray(issue.options) ? issue.options.map((value) => JSON.stringify(value)) : expected;
  const wanted = options.length > 0 ? `must be ${[...new Set(options)].join(' or ')}` : 'has not the right form';
  return [
    {
      pointer: toPointer(path),
      message: got === undefined ? `is missing; it ${wanted}` : `${wanted} (got ${describeValue(got)})`,
    },
  ];
}

function valueAt(value: unknown, path: PropertyKey[]): unknown {
  let current = value;
  for (const key of path) {
    if (current === null || typeof current !== 'object' || !Object.hasOwn(current, key)) return undefined;
    current = (current as Record<PropertyKey, unknown>)[key];
  }
  return current;
}

/** The parts of a zod definition that say what lies inside a schema. */
interface Definition {
  shape?: PlainObject;
  innerType?: Schema;
  in?: Schema;
  element?: Schema;
  valueType?: Schema;
  options?: Schema[];
  getter?: () => Schema;
}

const definition = (schema: Schema): Definition => schema._zod.def as unknown as Definition;

/** The object, array and record schemas behind wrappers and unions. */
function unwrap(schema: Schema): Schema[] {
  const def = definition(schema);
  const inner = def.innerType ?? def.in ?? def.getter?.();
  if (inner !== undefined) return unwrap(inner);
  return def.options !== undefined ? def.options.flatMap(unwrap) : [schema];
}

function schemaAt(schema: Schema, path: PropertyKey[]): Schema[] {
  return path
    .reduce<Schema[]>(
      (current, key) => current.flatMap((item) => unwrap(item)).flatMap((item) => childSchema(item, key)),
      [schema],
    )
    .flatMap(unwrap);
}

function childSchema(schema: Schema, key: PropertyKey): Schema[] {
  const { shape, element, valueType } = definition(schema);
  if (shape !== undefined) return Object.hasOwn(shape, key) ? [shape[key as string] as Schema] : [];
  const child = element ?? valueType;
  return child === undefined ? [] : [child];
}

function knownKeys(schemas: Schema[]): string[] {
  return [...new Set(schemas.flatMap((schema) => Object.keys(definition(schema).shape ?? {})))];
}

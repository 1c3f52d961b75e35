/**
 * JSON Schemas as TypeScript types: the common part, honestly. What a type cannot say (patterns, ranges, conditions) is
 * left out, so the type is wider than the schema; what is not understood is `unknown`, never a guess.
 */
import type { Json, JsonObject } from '../../protocol/shapes';

/** Deeper schemas end in `unknown`. */
const MAX_DEPTH = 12;
/** More properties or alternatives than people write are not spelt out. */
const MAX_MEMBERS = 200;

/** Keywords that change the meaning of what stands beside them in ways that this generator does not follow. */
const BEYOND = [
  'not',
  'if',
  'dependentSchemas',
  '$dynamicRef',
  'patternProperties',
  'propertyNames',
  'unevaluatedProperties',
];

/** The type of the values that a schema accepts, as TypeScript text. `undefined`: anything goes. */
export function typeOfSchema(schema: Json | undefined): string {
  return new TypeWriter(schema).write(schema, 0);
}

class TypeWriter {
  /** `$ref`s that are being followed: a schema that contains itself ends in `unknown`. */
  private readonly following = new Set<string>();

  constructor(private readonly root: Json | undefined) {}

  write(schema: Json | undefined, depth: number): string {
    if (schema === false) return 'never';
    if (!isObject(schema) || depth > MAX_DEPTH || BEYOND.some((keyword) => Object.hasOwn(schema, keyword)))
      return 'unknown';
    const { $ref, enum: choices } = schema;
    if (typeof $ref === 'string') return this.reference($ref, depth);
    if (Object.hasOwn(schema, 'const')) return literal(schema.const!);
    if (Array.isArray(choices)) return union(choices.slice(0, MAX_MEMBERS + 1).map(literal));
    const parts = [this.ownType(schema, depth), ...this.combined(schema, depth)].filter((part) => part !== 'unknown');
    return parts.length === 0
      ? 'unknown'
      : parts.map((part) => (parts.length > 1 ? bracketed(part) : part)).join(' & ');
  }

  private combined({ allOf, anyOf, oneOf }: JsonObject, depth: number): string[] {
    const parts = Array.isArray(allOf) ? allOf.slice(0, MAX_MEMBERS).map((one) => this.write(one, depth + 1)) : [];
    for (const any of [anyOf, oneOf])
      if (Array.isArray(any)) parts.push(union(any.slice(0, MAX_MEMBERS + 1).map((one) => this.write(one, depth + 1))));
    return parts;
  }

  private ownType(schema: JsonObject, depth: number): string {
    const { type } = schema;
    if (Array.isArray(type)) return union(type.map((one) => this.named(one, schema, depth)));
    if (type === undefined) return isObject(schema.properties) ? this.object(schema, depth) : 'unknown';
    return this.named(type, schema, depth);
  }

  private named(type: Json, schema: JsonObject, depth: number): string {
    switch (type) {
      case 'string':
      case 'number':
      case 'boolean':
      case 'null':
        return type;
      case 'integer':
        return 'number';
      case 'array':
        return this.array(schema, depth);
      case 'object':
        return this.object(schema, depth);
      default:
        return 'unknown';
    }
  }

  private array({ items, prefixItems }: JsonObject, depth: number): string {
    if (prefixItems !== undefined) return 'unknown[]';
    return `${bracketed(this.write(items, depth + 1))}[]`;
  }

  private object({ properties, required, additionalProperties }: JsonObject, depth: number): string {
    const named = isObject(properties) ? Object.entries(properties) : [];
    const open = additionalProperties !== false;
    if (named.length === 0) return this.record(additionalProperties, depth);
    if (named.length > MAX_MEMBERS) return 'Record<string, unknown>';
    const needed = new Set(Array.isArray(required) ? required : []);
    const lines = named.map(([name, own]) => {
      const type = this.write(own, depth + 1).replaceAll('\n', '\n  ');
      return `  ${propertyKey(name)}${needed.has(name) ? '' : '?'}: ${type};\n`;
    });
    // An index signature must fit every property, so it says nothing of the values.
    const rest = open ? '  [key: string]: unknown;\n' : '';
    return `{\n${lines.join('')}${rest}}`;
  }

  private record(additional: Json | undefined, depth: number): string {
    if (additional === false) return 'Record<string, never>';
    return `Record<string, ${isObject(additional) ? this.write(additional, depth + 1) : 'unknown'}>`;
  }

  private reference(ref: string, depth: number): string {
    const path = /^#\/((?:\$defs|definitions)\/.+)$/.exec(ref)?.[1];
    if (path === undefined || this.following.has(ref)) return 'unknown';
    const target = path
      .split('/')
      .map((part) => decodePointer(part))
      .reduce<Json | undefined>((at, key) => (isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined), this.root);
    this.following.add(ref);
    const type = target === undefined ? 'unknown' : this.write(target, depth + 1);
    this.following.delete(ref);
    return type;
  }
}

function literal(value: Json): string {
  return value !== null && typeof value === 'object' ? 'unknown' : JSON.stringify(value);
}

/** Alternatives without repeats; `unknown` swallows all others. */
function union(types: readonly string[]): string {
  const distinct = [...new Set(types)];
  if (distinct.length === 0) return 'never';
  if (distinct.includes('unknown') || distinct.length > MAX_MEMBERS) return 'unknown';
  return distinct.map((type) => (distinct.length > 1 ? bracketed(type) : type)).join(' | ');
}

function bracketed(type: string): string {
  return /[|&]/.test(type) && !/^[{"]/.test(type) ? `(${type})` : type;
}

function propertyKey(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) && name !== '__proto__' ? name : JSON.stringify(name);
}

function decodePointer(part: string): string {
  let text = part;
  try {
    text = decodeURIComponent(part);
  } catch {
    // Not encoded after all.
  }
  return text.replaceAll('~1', '/').replaceAll('~0', '~');
}

function isObject(value: Json | undefined): value is JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

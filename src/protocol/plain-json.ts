/** The rules of strict JSON for values that were never text: YAML, an in-process call, an agent's parsed answer. */
import { faultError, tooDeep, type Fault, type StrictJsonOptions } from './json-faults';
import { toPointer } from './json-pointer';
import { describeValue, forbiddenKey, forbiddenKeyFinding, isWellFormed } from './json-rules';
import { MAX_DEPTH, MAX_PAYLOAD_BYTES } from './limits';
import { ReachError } from './reach-error';
import type { Json } from './shapes';

interface Walk {
  path: (string | number)[];
  maxDepth: number;
  /** Values still allowed; an alias bomb in memory has few objects and endless values. */
  left: number;
}

/**
 * Refuses what JSON text could not say, or what {@link parseJsonStrict} would refuse: cycles and depth over
 * the limit, reserved keys, numbers that are not finite, lone surrogates, undefined, functions, bigints,
 * sparse arrays, instances of classes, `toJSON`. Nothing is changed; keys must be left out rather than undefined.
 * @throws ReachError as {@link parseJsonStrict}; `payload_too_large` for more values than a full-size body can hold.
 */
export function assertPlainJson(value: unknown, options: StrictJsonOptions = {}): asserts value is Json {
  const walk: Walk = { path: [], maxDepth: options.maxDepth ?? MAX_DEPTH, left: MAX_PAYLOAD_BYTES };
  const fault = check(value, walk);
  if (fault !== null) throw faultError(fault, options);
  if (walk.left < 0) {
    const code = options.ownCodes === false ? (options.errorCode ?? 'invalid_request') : 'payload_too_large';
    throw new ReachError(
      code,
      `${options.what ?? 'the body'} has more than ${MAX_PAYLOAD_BYTES} values; send less at once`,
    );
  }
}

function check(value: unknown, walk: Walk): Fault | null {
  if (--walk.left < 0) return null;
  switch (typeof value) {
    case 'string':
      return isWellFormed(value) ? null : fault(walk, 'contains half of a surrogate pair', 'use well-formed Unicode');
    case 'number':
      return Number.isFinite(value)
        ? null
        : fault(walk, `is ${value}, which JSON cannot hold`, 'use null or a finite number');
    case 'boolean':
      return null;
    case 'object':
      return value === null ? null : checkContainer(value, walk);
    default:
      return fault(walk, `is not JSON (got ${describeValue(value)})`, 'leave the key out');
  }
}

function checkContainer(value: object, walk: Walk): Fault | null {
  if (walk.path.length >= walk.maxDepth) return tooDeep(walk.maxDepth);
  if (Array.isArray(value)) return checkItems(value, walk);
  const prototype: unknown = Object.getPrototypeOf(value);
  // A plain object of another realm (a vm context, a test sandbox) is still plain: its prototype has none above it.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    return fault(walk, 'is an instance of a class', 'pass a plain object');
  }
  for (const key of Object.keys(value)) {
    const child = (value as Record<string, unknown>)[key];
    const forbidden = forbiddenKey(key, child);
    if (forbidden !== null) {
      return {
        kind: 'forbidden_key',
        ...forbiddenKeyFinding(toPointer([...walk.path, ...forbidden])),
        details: { key },
      };
    }
    walk.path.push(key);
    const found = isWellFormed(key)
      ? check(child, walk)
      : fault(walk, 'is a key with half of a surrogate pair', 'use well-formed Unicode');
    if (found !== null) return found;
    walk.path.pop();
  }
  return null;
}

function checkItems(items: unknown[], walk: Walk): Fault | null {
  for (let index = 0; index < items.length; index++) {
    walk.path.push(index);
    const found = check(items[index], walk);
    if (found !== null) return found;
    walk.path.pop();
  }
  return null;
}

function fault(walk: Walk, message: string, fix: string): Fault {
  return { kind: 'invalid', pointer: toPointer(walk.path), message, fix };
}

/** From a composed YAML document to plain data, in one bounded walk that notes every place as a JSON pointer. */
import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Alias,
  type Document,
  type LineCounter,
  type Node,
  type Pair,
  type Scalar,
  type YAMLMap,
} from 'yaml';
import { faultError, tooDeep, type Fault } from './json-faults';
import { toPointer } from './json-pointer';
import { forbiddenKey, forbiddenKeyFinding, isExactNumber, isWellFormed } from './json-rules';
import { MAX_DEPTH } from './limits';
import { ReachError, type FieldError } from './reach-error';
import type { Json, JsonObject } from './shapes';

/** Aliases a person writes are few; each is expanded, so their number is bounded. */
export const MAX_ALIASES = 100;
/** Values that all expansions together may add: a bomb multiplies a few aliases into millions. */
const MAX_EXPANDED = 10_000;
/** Numbers that other YAML versions or languages read with another base: `0042`, `0o17`, `0x1F`. */
const OTHER_BASE = /^[-+]?0(?:\d|[xob])/i;
/** `1.10`: fine as a number, wrong if a version or a code was meant. */
const TRAILING_ZERO = /^[-+]?\d+\.\d*[1-9]0+$/;

/** The error for more aliases than allowed (`details.reason` `alias_limit`). */
export function aliasLimitError(what: string, pointer = ''): ReachError {
  const message = `${what} uses more aliases than allowed (${MAX_ALIASES}, or ${MAX_EXPANDED} values by expansion); write the values out`;
  return new ReachError('invalid_descriptor', message, {
    errors: [{ pointer, message: 'expands too many aliases', fix: 'write the values out' }],
    extra: { details: { reason: 'alias_limit', max_aliases: MAX_ALIASES, max_expanded_values: MAX_EXPANDED } },
  });
}

/** One conversion; throws at the first broken structure, collects retyped scalars. */
export class YamlConversion {
  private readonly path: (string | number)[] = [];
  private readonly findings: FieldError[] = [];
  private readonly warnings: string[] = [];
  private aliases = 0;
  private expanded = 0;
  private expanding = 0;

  constructor(
    private readonly document: Document.Parsed,
    private readonly lines: LineCounter,
    private readonly what: string,
  ) {}

  /** The document as plain data. */
  run(): { value: Json; findings: FieldError[]; warnings: string[] } {
    const value = this.convert(this.document.contents);
    return { value, findings: this.findings, warnings: this.warnings };
  }

  private convert(node: Node | null): Json {
    if (this.expanding > 0 && ++this.expanded > MAX_EXPANDED) throw aliasLimitError(this.what, toPointer(this.path));
    if (node === null) return null;
    if (isAlias(node)) return this.expand(node);
    if (isScalar(node)) return this.scalar(node);
    if (this.path.length >= MAX_DEPTH) throw faultError(tooDeep(MAX_DEPTH), { what: this.what });
    if (isMap(node)) return this.map(node);
    if (isSeq(node)) return node.items.map((item, index) => this.at(index, () => this.convert(item as Node | null)));
    throw this.invalid('is not plain data', 'use maps, lists and scalars');
  }

  private at<T>(token: string | number, work: () => T): T {
    this.path.push(token);
    const result = work();
    this.path.pop();
    return result;
  }

  private expand(alias: Alias): Json {
    if (++this.aliases > MAX_ALIASES) throw aliasLimitError(this.what, toPointer(this.path));
    const target = alias.resolve(this.document);
    if (target === undefined)
      throw this.invalid(`is an alias of nothing (*${alias.source})`, 'define the anchor before it');
    this.expanding++;
    const value = this.convert(target as Node);
    this.expanding--;
    return value;
  }

  private map(map: YAMLMap): JsonObject {
    const object: JsonObject = {};
    const lineOfKey = new Map<string, number>();
    for (const pair of map.items) {
      const key = this.key(pair);
      const line = this.lineOf(pair.key as Node);
      const value = this.at(key, () => {
        this.checkKey(key, line, lineOfKey.get(key));
        return this.convert(pair.value as Node | null);
      });
      const forbidden = forbiddenKey(key, value);
      if (forbidden !== null)
        throw this.fault({ kind: 'forbidden_key', ...forbiddenKeyFinding(toPointer([...this.path, ...forbidden])) });
      lineOfKey.set(key, line);
      object[key] = value;
    }
    return object;
  }

  private key({ key }: Pair): string {
    if (isScalar(key) && typeof key.value === 'string') return key.value;
    const shown = isScalar(key) ? String(key.source ?? key.value) : 'a collection or alias';
    throw this.invalid(`has a key that is not text (${shown})`, 'put the key in quotes');
  }

  private checkKey(key: string, line: number, earlier: number | undefined): void {
    const pointer = toPointer(this.path);
    if (key === '__proto__') throw this.fault({ kind: 'forbidden_key', ...forbiddenKeyFinding(pointer) });
    if (key === '<<') throw this.invalid('is a merge key, which YAML 1.2 does not have', 'write the keys out');
    if (!isWellFormed(key)) throw this.invalid('is a key with half of a surrogate pair', 'use well-formed Unicode');
    if (earlier === undefined) return;
    const message = `appears twice in the same map: key ${JSON.stringify(key)} on line ${earlier} and line ${line}`;
    throw this.fault({
      kind: 'duplicate_key',
      pointer,
      message,
      fix: 'keep one of them',
      details: { key, lines: [earlier, line] },
    });
  }

  private scalar(node: Scalar): Json {
    const { value, source = '' } = node;
    if (typeof value === 'number') this.checkNumber(value, source);
    else if (typeof value === 'string') {
      if (!isWellFormed(value)) throw this.invalid('contains half of a surrogate pair', 'use well-formed Unicode');
    } else if (value !== null && typeof value !== 'boolean')
      throw this.invalid('is not plain data', 'put it in quotes');
    return value as Json;
  }

  private checkNumber(value: number, source: string): void {
    const isOtherBase = OTHER_BASE.test(source);
    const isExact = Number.isFinite(value) && (isOtherBase || isExactNumber(source.replace(/^\+/, '')));
    if (isOtherBase || !isExact) {
      const got = isExact ? value : source;
      this.findings.push({
        pointer: toPointer(this.path),
        message: `must be a quoted string (got number ${got})`,
        fix: `write "${source}" for text, or the number in plain decimal digits`,
      });
    } else if (TRAILING_ZERO.test(source)) {
      this.warnings.push(`${toPointer(this.path)} is read as the number ${value}; write "${source}" if it is text`);
    }
  }

  private lineOf(node: Node | null): number {
    return this.lines.linePos(node?.range?.[0] ?? 0).line;
  }

  private invalid(message: string, fix: string): ReachError {
    return this.fault({ kind: 'invalid', pointer: toPointer(this.path), message, fix });
  }

  private fault(fault: Fault): ReachError {
    return faultError(fault, { errorCode: 'invalid_descriptor', what: this.what });
  }
}

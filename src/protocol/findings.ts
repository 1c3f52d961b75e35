/** Validation of documents against our own schemas: all findings at once, each with its place. */
import type { z } from 'zod';
import type { ErrorCode } from './error-codes';
import { ReachError, type FieldError } from './reach-error';
import { findingsOf } from './zod-findings';

/** How a document is validated. */
export interface ValidateOptions {
  /** Code of the error; default `invalid_request`. */
  code?: ErrorCode;
  /** What the document is, for findings about the whole; default `the body`. */
  what?: string;
  /** The document was YAML. */
  yaml?: boolean;
  /** Findings made before, listed first. */
  before?: readonly FieldError[];
}

/** How many findings an error lists; more would not be read. */
const MAX_FINDINGS = 50;
/** How many findings the one-line detail quotes. */
const QUOTED_FINDINGS = 5;

/**
 * The document as the schema gives it (defaults applied).
 * @throws ReachError with every finding by JSON pointer.
 */
export function validate<S extends z.ZodType>(schema: S, value: unknown, options: ValidateOptions = {}): z.output<S> {
  const result = schema.safeParse(value);
  const before = options.before ?? [];
  if (result.success && before.length === 0) return result.data;
  const found = result.success ? [] : findingsOf(result.error, { schema, value, yaml: options.yaml });
  throw findingsError([...before, ...withoutRepeats(found, before)], options);
}

function withoutRepeats(found: FieldError[], before: readonly FieldError[]): FieldError[] {
  const known = new Set(before.map(({ pointer }) => pointer));
  return found.filter(({ pointer }) => !known.has(pointer));
}

/** The error for a list of findings; its message quotes the first ones, so that one line of a log says what to do. */
export function findingsError(findings: readonly FieldError[], options: ValidateOptions = {}): ReachError {
  const what = options.what ?? 'the body';
  const quoted = findings.slice(0, QUOTED_FINDINGS).map((finding) => describeFinding(finding, what));
  const more = findings.length > QUOTED_FINDINGS ? ` (and ${findings.length - QUOTED_FINDINGS} more)` : '';
  return new ReachError(options.code ?? 'invalid_request', `${quoted.join('; ')}${more}`, {
    errors: findings.slice(0, MAX_FINDINGS),
  });
}

function describeFinding({ pointer, message, fix }: FieldError, what: string): string {
  const where = pointer === '' ? what : pointer;
  return fix === undefined ? `${where} ${message}` : `${where} ${message}, ${fix}`;
}

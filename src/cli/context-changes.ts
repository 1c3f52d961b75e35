import type { ContextOperation } from '../protocol/context';
import { ReachError } from '../protocol/reach-error';
import type { Json } from '../protocol/shapes';
import { parseJsonStrict } from '../protocol/strict-json';
import { readPayload } from './envelope-options';
import { UsageError } from './exit-codes';
import type { CliIo } from './io';

/** The options of `context patch`, as commander hands them out. */
export interface PatchOptions {
  set?: string[];
  append?: string[];
  delete?: string[];
  baseVersion?: string[];
  force?: boolean;
  patch?: string;
}

/**
 * The operations that the options describe, sets first, then appends and deletions; or those of `-p`, as they stand.
 *
 * @throws UsageError
 */
export async function readChanges(options: PatchOptions, io: CliIo): Promise<ContextOperation[]> {
  const { set = [], append = [], delete: deletions = [] } = options;
  const flagged = set.length + append.length + deletions.length > 0;
  if (options.patch !== undefined) {
    if (flagged || options.force || options.baseVersion)
      throw new UsageError('-p says everything; leave the other options out');
    return operationsOf(await readPayload(options.patch, io));
  }
  if (!flagged) throw new UsageError('say what to change: --set, --append, --delete, or -p');
  const guard = guardOf(options);
  return [
    ...set
      .map((text) => ({ op: 'set' as const, ...assignment('--set', text) }))
      .map((each) => ({ ...each, ...guard(each.field) })),
    ...append.map((text) => ({ op: 'append' as const, ...assignment('--append', text) })),
    ...deletions.map((field) => ({ op: 'delete' as const, field, ...guard(field) })),
  ];
}

/** The gateway looks at each of them; here only the outside matters. */
function operationsOf(body: Record<string, Json>): ContextOperation[] {
  if (Array.isArray(body.operations)) return body.operations as unknown as ContextOperation[];
  throw new UsageError('-p must hold {"operations": […]}, as PATCH /v1/contexts/{id} takes it');
}

function assignment(option: string, text: string): { field: string; value: Json } {
  const at = text.indexOf('=');
  if (at < 1) throw new UsageError(`${option} is written FIELD=JSON, such as ${option} 'total=3'`);
  const field = text.slice(0, at);
  try {
    return { field, value: parseJsonStrict(text.slice(at + 1), { what: 'the value' }) };
  } catch (caught) {
    throw new UsageError(
      `${option} ${field}: ${ReachError.from(caught).message}; text needs quotes of its own: ${option} '${field}="…"'`,
    );
  }
}

/** What a set or delete is made from: `--force`, a version for all, or one by field. */
function guardOf({
  force,
  baseVersion = [],
}: PatchOptions): (field: string) => { force: true } | { base_version: number } {
  if (force && baseVersion.length > 0) throw new UsageError('say --base-version or --force, not both');
  if (force) return () => ({ force: true });
  const byField = new Map(baseVersion.map(versionFor));
  return (field) => {
    const version = byField.get(field) ?? byField.get(null);
    if (version !== undefined) return { base_version: version };
    throw new UsageError(
      `say which version of ${field} you have seen: --base-version ${field}=N (agent-reach context get shows it, 0 is for a new field), or --force`,
    );
  };
}

function versionFor(text: string): [field: string | null, version: number] {
  const at = text.lastIndexOf('=');
  const digits = text.slice(at + 1);
  const version = /^\d{1,16}$/.test(digits) ? Number(digits) : NaN;
  if (Number.isSafeInteger(version)) return [at < 0 ? null : text.slice(0, at), version];
  throw new UsageError(`--base-version is N or FIELD=N, a whole number; it is ${JSON.stringify(text)}`);
}

import type { Context, ContextConflict, ContextPatched } from '../../protocol/context';
import type { CliIo } from '../io';
import { printable } from '../printable';
import { table } from './table';
import { ago, size } from './text';

/** The fields of a context as a table, one a line. */
export function renderContext({ context_id: id, fields }: Context, io: Pick<CliIo, 'columns' | 'color'>): string {
  const rows = Object.entries(fields).map(([name, { value, version, updated_at, updated_by }]) => [
    name,
    String(version),
    ago(updated_at),
    updated_by,
    JSON.stringify(value),
  ]);
  if (rows.length === 0) return `The context ${id} has no such field.`;
  return table(['FIELD', 'VERSION', 'WRITTEN', 'BY', { title: 'VALUE', flexible: true }], rows, io);
}

/** What a patch did, a field a line. */
export function renderPatched({ fields, deleted }: ContextPatched, { color }: Pick<CliIo, 'color'>): string {
  const written = Object.entries(fields).map(
    ([name, { version, value }]) =>
      `${color.green('✓')} ${name} ${value === undefined ? 'appended to' : 'set'}, version ${version}`,
  );
  return [...written, ...deleted.map((name) => `${color.green('✓')} ${name} deleted`)].join('\n');
}

/** What stood in the way of a write, a field a line: seen, current, and the value that is there now. */
export function renderConflicts(conflicts: readonly ContextConflict[], io: Pick<CliIo, 'columns' | 'color'>): string {
  const rows = printable([...conflicts]).map((conflict) => [
    conflict.field,
    conflict.base_version === 0 ? 'none' : String(conflict.base_version),
    conflict.current_version === 0 ? 'none' : String(conflict.current_version),
    currentOf(conflict),
  ]);
  return table(['FIELD', 'SEEN', 'CURRENT', { title: 'VALUE', flexible: true }], rows, io);
}

/** The value that is there; of one that is too large for an answer how large it is, and where to read it. */
function currentOf({ current_version, current_value, current_value_ref: ref }: ContextConflict): string {
  if (current_version === 0) return '';
  if (ref === undefined) return JSON.stringify(current_value);
  return `${size(ref.bytes)}, stored as a blob; read it with GET ${ref.href}`;
}

import Table from 'cli-table3';
import type { CliIo } from '../io';
import { fit, width } from './text';

const GAP = 2;
/** Width of a table that goes to a file or a pipe: nothing is cut there. */
const UNBOUNDED = Infinity;
const NARROWEST = 12;

/** A column: its title, and whether it gives way when the terminal is narrow (one column at most). */
export type Column = string | { title: string; flexible: true };

const BORDERLESS = Object.fromEntries(
  [
    'top',
    'top-mid',
    'top-left',
    'top-right',
    'bottom',
    'bottom-mid',
    'bottom-left',
    'bottom-right',
    'left',
    'left-mid',
    'mid',
    'mid-mid',
    'right',
    'right-mid',
    'middle',
  ].map((part) => [part, '']),
);

/** A table without lines, which reads well and greps well. Cells must be uncoloured where their column is flexible. */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  io: Pick<CliIo, 'columns' | 'color'>,
): string {
  const titles = columns.map((column) => (typeof column === 'string' ? column : column.title));
  const flexible = columns.findIndex((column) => typeof column !== 'string');
  const cells = flexible < 0 ? rows : shorten({ titles, rows, flexible, limit: io.columns ?? UNBOUNDED });
  const made = new Table({
    head: titles.map((title) => io.color.dim(title)),
    chars: BORDERLESS,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': GAP },
  });
  made.push(...cells.map((row) => [...row]));
  return made
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

interface Shortening {
  titles: readonly string[];
  rows: readonly (readonly string[])[];
  flexible: number;
  limit: number;
}

function shorten({ titles, rows, flexible, limit }: Shortening): string[][] {
  const widths = titles.map(
    (title, index) => Math.max(width(title), ...rows.map((row) => width(row[index] ?? ''))) + GAP,
  );
  const others = widths.reduce((sum, each, index) => (index === flexible ? sum : sum + each), 0);
  const room = Math.max(NARROWEST, limit - others - GAP);
  return rows.map((row) => row.map((cell, index) => (index === flexible ? fit(cell, room) : cell)));
}

/** Lines of `name  value` with the names in one column; values that are undefined are left out. */
export function facts(pairs: readonly (readonly [string, string | undefined])[], io: Pick<CliIo, 'color'>): string {
  const told = pairs.filter((pair): pair is [string, string] => pair[1] !== undefined);
  const room = Math.max(...told.map(([name]) => width(name)));
  return told.map(([name, value]) => `${io.color.dim(name.padEnd(room))}  ${value}`).join('\n');
}

import { parseArgs } from 'node:util';
import { NOT_APPLICABLE, SCENARIOS } from './rows';

/** What `npm run chaos` is asked for. */
export interface ChaosOptions {
  rows: number[];
  /** Seeds to run every row with. */
  seeds: number[];
  /** Rows at a time. */
  jobs: number;
  /** No row begins after so long, ms. */
  limitMs: number;
  /** Reaches held at once in row 16. */
  reaches: number;
  /** Where the reports are written as JSON; null for nowhere. */
  json: string | null;
  /** Runs rows with bugs planted in the product, instead of the rows as they are: each bug has to be found. */
  planted: boolean;
}

const USAGE = `usage: npm run chaos -- [--rows 1,4,21] [--seeds N | --seed S] [--jobs N] [--minutes N] [--reaches N] [--json FILE]
       npm run chaos -- --planted [--rows 1,21] [--seed S] [--json FILE]
  --rows     rows of the fault matrix, by number (default: all)
  --seeds    how many seeds to run each row with (default: 1)
  --seed     run with this seed, as a report printed it
  --jobs     how many rows to run at a time, each on a platform of its own; those that measure run alone (default: 1)
  --minutes  begin no further row after so long (default: no limit)
  --reaches  reaches pending at once in row 16 (default: 10000)
  --json     write the reports to this file
  --planted  plant bugs in the product, one at a time, and run the row that has to find each; of these rows, or all
`;

/** Thrown for arguments that make no sense; the message tells how it is used. */
export class UsageError extends Error {}

/** @param fallbackSeed the first seed where none is given @throws UsageError */
export function readOptions(args: readonly string[], fallbackSeed: number): ChaosOptions {
  const text = { type: 'string' } as const;
  const options = { rows: text, seeds: text, seed: text, jobs: text, minutes: text, reaches: text, json: text };
  const switches = { planted: { type: 'boolean' } } as const;
  const values = parsed(
    () => parseArgs({ args: [...args], options: { ...options, ...switches }, strict: true }).values,
  );
  const first = positive('seed', values.seed) ?? fallbackSeed;
  const count = values.seed === undefined ? (positive('seeds', values.seeds) ?? 1) : 1;
  const minutes = positive('minutes', values.minutes);
  return {
    rows: rowsOf(values.rows),
    seeds: Array.from({ length: count }, (_, index) => first + index),
    jobs: positive('jobs', values.jobs) ?? 1,
    limitMs: minutes === undefined ? Number.POSITIVE_INFINITY : minutes * 60_000,
    reaches: positive('reaches', values.reaches) ?? 10_000,
    json: values.json ?? null,
    planted: values.planted ?? false,
  };
}

function rowsOf(list: string | undefined): number[] {
  const known = [...SCENARIOS, ...NOT_APPLICABLE].map(({ row }) => row).sort((a, b) => a - b);
  if (list === undefined) return known;
  const wanted = list.split(',').map(Number);
  const unknown = wanted.filter((row) => !known.includes(row));
  if (unknown.length > 0) throw new UsageError(`--rows: there is no row ${unknown.join(', ')}\n${USAGE}`);
  return known.filter((row) => wanted.includes(row));
}

function positive(name: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const number = Number(value);
  if (Number.isSafeInteger(number) && number > 0) return number;
  throw new UsageError(`--${name}: ${value} is not a whole number above 0\n${USAGE}`);
}

function parsed<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n${USAGE}`);
  }
}

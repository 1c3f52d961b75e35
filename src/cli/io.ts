import { createColors } from 'picocolors';
import { text } from 'node:stream/consumers';

/** Some terminals do not say how wide they are. */
const FALLBACK_COLUMNS = 80;

type Colors = ReturnType<typeof createColors>;

/** Everything a command touches outside itself, so that tests can look at it. */
export interface CliIo {
  /** Results; with `--json` nothing but JSON. */
  out(text: string): void;
  /** Progress, errors, and what surrounds a result. */
  err(text: string): void;
  readStdin(): Promise<string>;
  env: Record<string, string | undefined>;
  /** Columns of the terminal that stdout is; undefined when it is none. */
  columns: number | undefined;
  /** Columns of the terminal that stderr is; undefined when it is none, and then no progress is drawn. */
  errColumns: number | undefined;
  color: Colors;
  errColor: Colors;
  /** Aborts at Ctrl-C. */
  signal: AbortSignal;
  /** Aborts when nobody reads stdout any more; what goes on for ever ends then. */
  readerGone: AbortSignal;
}

/** The process's own streams. Colours are off when not on a terminal or with NO_COLOR (no-color.org). */
export function processIo(signal: AbortSignal, readerGone: AbortSignal): CliIo {
  const { stdout, stderr, env } = process;
  const wanted = (isTty: boolean) => isTty && !env.NO_COLOR && env.TERM !== 'dumb';
  return {
    out: (line) => void stdout.write(line),
    err: (line) => void stderr.write(line),
    readStdin: () => text(process.stdin),
    env,
    columns: stdout.isTTY ? stdout.columns || FALLBACK_COLUMNS : undefined,
    errColumns: stderr.isTTY ? stderr.columns || FALLBACK_COLUMNS : undefined,
    color: createColors(wanted(stdout.isTTY === true)),
    errColor: createColors(wanted(stderr.isTTY === true)),
    signal,
    readerGone,
  };
}

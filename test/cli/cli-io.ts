import { createColors } from 'picocolors';
import type { CliIo } from '../../src/cli/io';
import { run } from '../../src/cli/run';

/** What a command line printed and ended with. */
export interface Ran {
  code: number;
  out: string;
  err: string;
}

/** Runs a command line in this process with streams that are kept. */
export async function cli(args: readonly string[], options: Partial<CliIo> & { stdin?: string } = {}): Promise<Ran> {
  const ran = { code: -1, out: '', err: '' };
  const io: CliIo = {
    out: (text) => void (ran.out += text),
    err: (text) => void (ran.err += text),
    readStdin: () => Promise.resolve(options.stdin ?? ''),
    env: {},
    columns: undefined,
    errColumns: undefined,
    color: createColors(false),
    errColor: createColors(false),
    signal: new AbortController().signal,
    readerGone: new AbortController().signal,
    ...options,
  };
  ran.code = await run(args, io);
  return ran;
}

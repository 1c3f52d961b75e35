import { CommanderError } from 'commander';
import { ReachError } from '../protocol/reach-error';
import { EXIT, exitCodeOf, UsageError } from './exit-codes';
import type { CliIo } from './io';
import { jsonText, printable } from './printable';
import { buildProgram } from './program';
import { renderError } from './render/error';

/**
 * Runs one command line and returns the exit code: 0 ok, 1 the reach failed, 2 usage, 3 the platform cannot be reached.
 * Errors go to stderr for people; with `--json` the problem document is also what stdout gets.
 */
export async function run(args: readonly string[], io: CliIo): Promise<number> {
  const outcome = { exitCode: EXIT.ok as number };
  try {
    await buildProgram(io, outcome).parseAsync(args, { from: 'user' });
    return outcome.exitCode;
  } catch (caught) {
    return report(caught, io, args.includes('--json'));
  }
}

function report(caught: unknown, io: CliIo, json: boolean): number {
  if (caught instanceof CommanderError) return caught.exitCode === 0 ? EXIT.ok : EXIT.usage; // commander has printed it
  if (io.signal.aborted) return EXIT.interrupted;
  if (caught instanceof UsageError) {
    io.err(`${io.errColor.red('usage:')} ${printable(caught.message)}\n`);
    return EXIT.usage;
  }
  const error = caught instanceof ReachError ? caught : new ReachError('internal', String(caught), { cause: caught });
  if (json) io.out(`${jsonText(error.toProblem())}\n`);
  io.err(renderError(error, io.errColor, io.errColumns));
  return exitCodeOf(error);
}

import type { Command } from 'commander';
import { renderTrace } from '../render/trace';
import type { CliContext } from '../session';

/** `trace ID`: a waterfall. */
export function addTrace(program: Command, { run, io }: CliContext): void {
  program
    .command('trace')
    .description('what happened to a reach, hop by hop, as a waterfall from the Temporal history')
    .argument('<id>', 'reach id')
    .addHelpText('after', '\nExamples:\n  $ agent-reach trace REACH_ID')
    .action((id: string, _options: unknown, command: Command) =>
      run(command, async (session) => {
        const trace = await session.client.trace(id);
        session.print(trace, () => renderTrace(trace, io));
      }),
    );
}

import type { Command } from 'commander';
import type { CliContext } from '../session';

/** `cancel ID`. */
export function addCancel(program: Command, { run, io }: CliContext): void {
  program
    .command('cancel')
    .description('cancel a reach and what it started')
    .argument('<id>', 'reach id')
    .addHelpText('after', '\nExamples:\n  $ agent-reach cancel REACH_ID && agent-reach get REACH_ID --wait 5s')
    .action((id: string, _options: unknown, command: Command) =>
      run(command, async (session) => {
        const answer = await session.client.cancel(id);
        session.print(answer, () => `${io.color.green('✓')} ${io.color.bold(id)}  being cancelled`);
      }),
    );
}

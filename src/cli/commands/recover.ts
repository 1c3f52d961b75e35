import type { Command } from 'commander';
import { withDeadLetters } from '../dead-letters/session';
import type { CliContext } from '../session';
import { addRedriveOptions, redriveFound, type RedriveOptions } from './dead-letters';

/** `recover`: every failed, timed-out or terminated run that is still its reach's last one, run again. */
export function addRecover(program: Command, context: CliContext): void {
  const command = program
    .command('recover')
    .description('after an outage: run again every reach whose last run failed, timed out or was terminated');
  addRedriveOptions(command)
    .addHelpText(
      'after',
      '\nIt is `dead-letters redrive --all --yes`: each run is reset once, however often this is called.\n\nExamples:\n  $ agent-reach recover --dry-run\n  $ agent-reach recover --agent refund_agent --since 2h',
    )
    .action((options: RedriveOptions, cmd: Command) =>
      withDeadLetters(context, cmd, (session, letters) => redriveFound(session, letters, { ...options, yes: true })),
    );
}

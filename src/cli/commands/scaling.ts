import type { Command } from 'commander';
import { renderScaling } from '../render/scaling';
import type { CliContext } from '../session';

const EXAMPLES = `
Examples:
  $ agent-reach scaling                      every agent: what it carries, what it should have, and why
  $ agent-reach scaling refund_agent --json | jq '.items[0].recommended.instances'`;

/** `scaling [AGENT]`: how many instances agents need, and first of all why (R35). */
export function addScaling(program: Command, { run, io }: CliContext): void {
  program
    .command('scaling')
    .description('how many instances each agent needs, and why')
    .argument('[agent]', 'this agent only')
    .addHelpText('after', EXAMPLES)
    .action((agent: string | undefined, _options: object, command: Command) =>
      run(command, async ({ client, print }) => {
        const items = await client.scalingHints({ agent, signal: io.signal });
        print({ items }, () => renderScaling(items, io));
      }),
    );
}

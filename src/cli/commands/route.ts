import { Option, type Command } from 'commander';
import { addEnvelopeOptions, readEnvelope, type EnvelopeOptions } from '../envelope-options';
import { EXIT } from '../exit-codes';
import { renderRoute } from '../render/route';
import type { CliContext } from '../session';

const EXAMPLES = `
Examples:
  $ agent-reach route refund -p '{"text":"我要退款"}'
  $ agent-reach route '*' -p '{"text":"does it float?"}'     whichever ability fits
  $ agent-reach route refund --version-range ^2 --group beta`;

/** `route ABILITY`: who would get it, and why; nothing is sent. */
export function addRoute(program: Command, { run, io }: CliContext): void {
  const command = program
    .command('route')
    .description(
      'who would get this and why: every candidate with its factors, every exclusion with its reason; nothing is sent',
    )
    .argument('[ability]', "an ability, or '*' for whichever fits the payload");
  addEnvelopeOptions(command)
    .addOption(new Option('--mode <mode>', 'as it would be sent').choices(['sync', 'async']))
    .addHelpText('after', EXAMPLES)
    .action((ability: string | undefined, options: EnvelopeOptions & { mode?: 'sync' | 'async' }, self: Command) =>
      run(self, async (session) => {
        const envelope = await readEnvelope(ability, options, io);
        const route = await session.client.route({ ...envelope, ...(options.mode && { mode: options.mode }) });
        if (route.agent_name === null) session.exitCode = EXIT.failed;
        session.print(route, () => renderRoute(route, io));
      }),
    );
}

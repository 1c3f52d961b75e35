import { Option, type Command } from 'commander';
import { addEnvelopeOptions, readEnvelope, type EnvelopeOptions } from '../envelope-options';
import { renderReceipt } from '../render/reach';
import type { CliContext } from '../session';

const EXAMPLES = `
Examples:
  $ agent-reach send summarise -p '{"url":"https://example.org"}' --key example.org
  $ ID=$(agent-reach send summarise -p @doc.json --json | jq -r .reach_id) && agent-reach get "$ID" --wait 30s`;

/** `send ABILITY`: hands over and returns the receipt at once. */
export function addSend(program: Command, { run, io }: CliContext): void {
  const command = program
    .command('send')
    .description('hand a message over and get its receipt at once; the result follows')
    .argument('[ability]', "an ability, or '*' for whichever fits the payload");
  addEnvelopeOptions(command)
    .addOption(
      new Option('--mode <mode>', 'async: durable, 24 h by default; sync: a result is wanted soon')
        .choices(['async', 'sync'])
        .default('async'),
    )
    .addHelpText('after', EXAMPLES)
    .action((ability: string | undefined, options: EnvelopeOptions & { mode: 'sync' | 'async' }, self: Command) =>
      run(self, async (session) => {
        const envelope = await readEnvelope(ability, options, io);
        const receipt = await session.client.send({ ...envelope, mode: options.mode }, { signal: io.signal });
        session.print(receipt, () => renderReceipt(receipt, { url: session.url, color: io.color }));
      }),
    );
}

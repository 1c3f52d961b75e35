import type { Command } from 'commander';
import type { EnvelopeDraft } from '../../protocol/envelope';
import type { Receipt } from '../../protocol/shapes';
import type { ReachResult } from '../../sdk/wire-types';
import { addEnvelopeOptions, readEnvelope, type EnvelopeOptions } from '../envelope-options';
import { parseDuration } from '../parse';
import { printable } from '../printable';
import { clipped } from '../render/clipped';
import { expectationOf, renderAnswer, renderResultNotes } from '../render/reach';
import { agentOf } from '../render/text';
import type { CliContext, Session } from '../session';
import { Spinner } from '../spinner';

interface InvokeOptions extends EnvelopeOptions {
  wait?: number;
}

const EXAMPLES = `
The answer goes to stdout, what surrounds it to stderr, so that the answer can be piped.

Examples:
  $ agent-reach invoke echo -p '{"text":"hello"}'
  $ agent-reach invoke refund -p @ticket.json --key ticket-42 --timeout 30s
  $ agent-reach invoke answer --agent product_qa#1.2.0 -p - < question.json
  $ agent-reach invoke summarise -p @doc.json --timeout 10m --wait 5s      stops waiting after 5 s; the reach goes on`;

/** `invoke ABILITY`: asks and waits for the answer. */
export function addInvoke(program: Command, { run, io }: CliContext): void {
  const command = program
    .command('invoke')
    .description('ask for an ability and wait for the answer')
    .argument('[ability]', "an ability, or '*' for whichever fits the payload");
  addEnvelopeOptions(command)
    .option('--wait <duration>', 'stop waiting after this long; default: until the reach ends', parseDuration)
    .addHelpText('after', EXAMPLES)
    .action((ability: string | undefined, options: InvokeOptions, self: Command) =>
      run(self, async (session) => {
        const envelope = await readEnvelope(ability, options, io);
        const result = await withSpinner(session, envelope, options.wait);
        session.print(result, () =>
          session.io.columns === undefined ? renderAnswer(result) : clipped(renderAnswer(result)),
        );
        if (!session.json) io.err(`${renderResultNotes(result, { url: session.url, color: io.errColor })}\n`);
      }),
    );
}

async function withSpinner(
  session: Session,
  envelope: EnvelopeDraft,
  waitMs: number | undefined,
): Promise<ReachResult> {
  const wanted = envelope.ability ?? envelope.target_agent ?? '';
  const spinner = new Spinner(session.io, { text: `asking for ${wanted}`, quiet: session.json });
  const onReceipt = (receipt: Receipt) => {
    const expected = expectationOf(receipt);
    const who = `${agentOf(receipt.agent_name, receipt.agent_version)} is working on ${receipt.reach_id}`;
    spinner.say(printable(expected ? `${who}, expected ${expected}` : who));
    // A spinner that is drawn already gives way.
    const clear = session.io.errColumns === undefined ? '' : '\r\u001b[2K';
    const warnings = session.json ? [] : (receipt.warnings ?? []);
    for (const { message } of warnings) session.io.err(`${clear}${printable(message)}\n`);
  };
  try {
    const { signal } = session.io;
    if (waitMs === undefined) return await session.client.invoke(envelope, { signal, onReceipt });
    const receipt = await session.client.send({ ...envelope, mode: 'sync' }, { signal });
    onReceipt(receipt);
    return await session.client.wait(receipt.reach_id, { timeoutMs: waitMs, signal });
  } finally {
    spinner.stop();
  }
}

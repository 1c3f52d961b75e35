import type { Command } from 'commander';
import { REACH_ENDS } from '../../protocol/reach-event';
import { EXIT } from '../exit-codes';
import { jsonLine } from '../printable';
import { renderEvent } from '../render/reach-events';
import type { CliContext, Session } from '../session';

/** `watch ID`: what happens to a reach, as it happens. */
export function addWatch(program: Command, { run }: CliContext): void {
  program
    .command('watch')
    .description('what happens to a reach, line by line until it ends; exit code 1 when it ends without an answer')
    .argument('<id>', 'reach id')
    .option('--after <event-id>', 'only what came after this event')
    .addHelpText(
      'after',
      '\nA lost connection is made again. With --json one event is one line.\n\nExamples:\n  $ agent-reach watch REACH_ID\n  $ agent-reach watch REACH_ID --json | jq .event',
    )
    .action((id: string, options: { after?: string }, command: Command) =>
      run(command, (session) => watch(session, id, options)),
    );
}

async function watch(session: Session, id: string, { after }: { after?: string }): Promise<void> {
  const { io, json } = session;
  const signal = AbortSignal.any([io.signal, io.readerGone]);
  let firstMs: number | undefined;
  try {
    for await (const event of session.client.watch(id, { after, signal })) {
      const atMs = Date.parse(event.data.at);
      firstMs ??= atMs;
      io.out(`${json ? jsonLine(event) : renderEvent(event, atMs - firstMs, io.color)}\n`);
      if (REACH_ENDS.has(event.event) && event.event !== 'completed') session.exitCode = EXIT.failed;
    }
  } catch (caught) {
    if (!io.readerGone.aborted) throw caught;
  }
}

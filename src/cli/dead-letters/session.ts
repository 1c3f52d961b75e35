import type { Command } from 'commander';
import { DeadLettersClient } from '../../sdk/dead-letters';
import { printableAnswers } from '../printable';
import type { CliContext, GlobalOptions, Session } from '../session';

/** People do not wait for ten repeats to hear that nobody listens. */
const MAX_RETRIES = 2;

/** Runs `work` with a client for dead letters, whose answers are safe to print unless `--json` wants them exact. */
export function withDeadLetters(
  { run }: CliContext,
  command: Command,
  work: (session: Session, letters: DeadLettersClient) => Promise<void>,
): Promise<void> {
  return run(command, async (session) => {
    const apiKey = command.optsWithGlobals<GlobalOptions>().apiKey ?? session.io.env.AGENT_REACH_API_KEY;
    const letters = DeadLettersClient.connect({
      url: session.url,
      apiKey: apiKey || undefined,
      maxRetries: MAX_RETRIES,
    });
    try {
      await work(session, session.json ? letters : printableAnswers(letters));
    } finally {
      await letters.close();
    }
  });
}

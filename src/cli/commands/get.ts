import type { Command } from 'commander';
import type { ReachView } from '../../sdk/wire-types';
import { EXIT } from '../exit-codes';
import { parseDuration } from '../parse';
import { renderView } from '../render/reach';
import type { CliContext, Session } from '../session';
import { Spinner } from '../spinner';

/** The gateway holds one request at most this long, s. */
const LONGEST_HOLD_SEC = 20;

/** `get ID`: status, result or error. */
export function addGet(program: Command, { run, io }: CliContext): void {
  program
    .command('get')
    .description('status, result or error of a reach; exit code 1 when it ended without an answer')
    .argument('<id>', 'reach id')
    .option('--wait <duration>', 'wait this long for its end', parseDuration, 0)
    .addHelpText('after', '\nExamples:\n  $ agent-reach get REACH_ID\n  $ agent-reach get REACH_ID --wait 30s --json')
    .action((id: string, options: { wait: number }, command: Command) =>
      run(command, async (session) => {
        const view = await waitFor(session, id, options.wait);
        if (isFailure(view)) session.exitCode = EXIT.failed;
        session.print(view, () => renderView(view, { url: session.url, color: io.color }));
      }),
    );
}

async function waitFor(session: Session, id: string, waitMs: number): Promise<ReachView> {
  const { signal } = session.io;
  const endsAt = performance.now() + waitMs;
  const spinner = new Spinner(session.io, { text: `waiting for ${id}`, quiet: session.json || waitMs === 0 });
  try {
    for (;;) {
      const leftSec = Math.ceil((endsAt - performance.now()) / 1_000);
      const view = await session.client.get(id, { waitSec: Math.max(0, Math.min(LONGEST_HOLD_SEC, leftSec)), signal });
      if (!isRunning(view) || performance.now() >= endsAt) return view;
    }
  } finally {
    spinner.stop();
  }
}

const isRunning = (view: ReachView) => view.status === 'accepted' || view.status === 'running';
const isFailure = (view: ReachView) => !isRunning(view) && view.status !== 'completed';

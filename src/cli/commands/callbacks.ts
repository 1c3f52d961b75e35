import { Option, type Command } from 'commander';
import { ReachError } from '../../protocol/reach-error';
import type { CallbacksClient, DeliveryFilter, DeliveryRedrive } from '../../sdk/callbacks';
import { EXIT, exitCodeOf } from '../exit-codes';
import { parseWhole } from '../parse';
import { printableAnswers } from '../printable';
import { renderDeliveries, renderDelivery } from '../render/callbacks';
import type { CliContext, Session } from '../session';

/** `callbacks list|show|redrive|secret`. */
export function addCallbacks(program: Command, context: CliContext): void {
  const group = program
    .command('callbacks')
    .description('who was told of the end of a reach: see how it stands, and tell once more')
    .addHelpText(
      'after',
      '\nExamples:\n  $ agent-reach callbacks list --state failed\n  $ agent-reach callbacks redrive CALLBACK_ID\n  $ agent-reach callbacks secret',
    );
  addList(group, context);
  addShow(group, context);
  addRedrive(group, context);
  addSecret(group, context);
}

/** Answers are safe to print unless `--json` wants them exact. */
function withCallbacks(
  { run }: CliContext,
  command: Command,
  work: (session: Session, callbacks: CallbacksClient) => Promise<void>,
): Promise<void> {
  return run(command, (session) => {
    const { callbacks } = session.client;
    return work(session, session.json ? callbacks : printableAnswers(callbacks));
  });
}

function addList(group: Command, context: CliContext): void {
  group
    .command('list')
    .description('newest first; a new one shows up within about a second')
    .addOption(new Option('--state <state>', 'in this state').choices(['pending', 'delivered', 'failed']))
    .option('--failed', 'short for --state failed')
    .option('--reach <id>', 'of this reach')
    .option('--limit <n>', 'rows of a page', (text) => parseWhole(text, 1, 200), 20)
    .option('--cursor <cursor>', 'the next page, as the last one named it')
    .addHelpText(
      'after',
      '\nExamples:\n  $ agent-reach callbacks list --failed\n  $ agent-reach callbacks list --reach REACH_ID',
    )
    .action((options: Omit<DeliveryFilter, 'reach_id'> & { reach?: string; failed?: boolean }, cmd: Command) =>
      withCallbacks(context, cmd, async (session, callbacks) => {
        const { state, failed, reach, limit, cursor } = options;
        const page = await callbacks.list({ state: failed ? 'failed' : state, reach_id: reach, limit, cursor });
        session.print(page, () => {
          const { io } = session;
          const next = page.next_cursor === undefined ? '' : io.color.dim(`\nmore: --cursor ${page.next_cursor}`);
          return (page.items.length > 0 ? renderDeliveries(page.items, io) : 'No callbacks.') + next;
        });
      }),
    );
}

function addShow(group: Command, context: CliContext): void {
  group
    .command('show')
    .description('how one stands')
    .argument('<id>', 'callback id, as the list and the webhook-id header have it')
    .addHelpText('after', '\nExamples:\n  $ agent-reach callbacks show CALLBACK_ID')
    .action((id: string, _options: unknown, cmd: Command) =>
      withCallbacks(context, cmd, async (session, callbacks) => {
        const delivery = await callbacks.show(id);
        session.print(delivery, () => renderDelivery(delivery, session.io));
      }),
    );
}

function addRedrive(group: Command, context: CliContext): void {
  group
    .command('redrive')
    .description('tell once more what failed, on a fresh schedule and under the same id')
    .argument('<id...>', 'callback ids')
    .addHelpText(
      'after',
      "\nExamples:\n  $ agent-reach callbacks redrive CALLBACK_ID\n  $ agent-reach callbacks list --failed --json | jq -r '.items[].id' | xargs agent-reach callbacks redrive",
    )
    .action((ids: string[], _options: unknown, cmd: Command) =>
      withCallbacks(context, cmd, async (session, callbacks) => {
        const items: RedriveOutcome[] = [];
        for (const id of new Set(ids)) {
          const outcome = await callbacks.redrive(id).catch((caught: unknown) => failureOf(id, caught));
          if ('error' in outcome) session.exitCode = Math.max(session.exitCode, exitCodeOf(outcome.error), EXIT.failed);
          items.push(outcome);
        }
        const { color } = session.io;
        const line = (one: RedriveOutcome) =>
          'error' in one
            ? `${color.red('✗')} ${color.bold(one.id)}  ${one.error.message}`
            : `${color.green('✓')} ${color.bold(one.id)}  ${one.replayed ? `is ${one.status} already` : 'on its way again'}`;
        const told = items.map((one) => ('error' in one ? { id: one.id, error: one.error.toProblem() } : one));
        session.print({ items: told }, () => items.map(line).join('\n'));
      }),
    );
}

/** One that fails keeps none of the others back. */
type RedriveOutcome = DeliveryRedrive | { id: string; error: ReachError };

const failureOf = (id: string, caught: unknown): RedriveOutcome => ({ id, error: ReachError.from(caught) });

function addSecret(group: Command, context: CliContext): void {
  group
    .command('secret')
    .description('what callbacks are signed with, for the receiver to verify them; a configured secret is not shown')
    .addHelpText('after', '\nExamples:\n  $ export CALLBACK_SECRET=$(agent-reach callbacks secret)')
    .action((_options: unknown, cmd: Command) =>
      withCallbacks(context, cmd, async (session, callbacks) => {
        const answer = await callbacks.secret();
        session.print(
          answer,
          () => answer.secret ?? 'configured by the operator (callbacks.secret_env), who hands it to receivers',
        );
      }),
    );
}

import { Option, type Command } from 'commander';
import type { DeadLetterFilter, DeadLettersClient, DeadLetterState } from '../../sdk/dead-letters';
import { addFilterOptions, filterOf } from '../dead-letters/filter';
import { collect, redriveMany, rehearse } from '../dead-letters/redrive-many';
import { withDeadLetters } from '../dead-letters/session';
import { UsageError } from '../exit-codes';
import { parseWhole } from '../parse';
import { renderDeadLetter, renderDeadLetters } from '../render/dead-letters';
import { count } from '../render/text';
import type { CliContext, Session } from '../session';

/** `dead-letters list|show|redrive|discard`. */
export function addDeadLetters(program: Command, context: CliContext): void {
  const group = program
    .command('dead-letters')
    .description('what could not be delivered: find it, see why, run it again once, or give it up')
    .addHelpText(
      'after',
      '\nExamples:\n  $ agent-reach dead-letters list --agent refund_agent --since 24h\n  $ agent-reach dead-letters show REACH_ID\n  $ agent-reach dead-letters redrive REACH_ID',
    );
  addList(group, context);
  addShow(group, context);
  addRedrive(group, context);
  addDiscard(group, context);
}

interface ListOptions extends DeadLetterFilter {
  state: DeadLetterState;
  limit: number;
  cursor?: string;
}

function addList(group: Command, context: CliContext): void {
  const command = group
    .command('list')
    .description('newest first; a new one shows up within about a second')
    .addOption(
      new Option('--state <state>', 'in this state').choices(['open', 'redriven', 'discarded']).default('open'),
    );
  addFilterOptions(command)
    .option('--limit <n>', 'rows of a page', (text) => parseWhole(text, 1, 200), 20)
    .option('--cursor <cursor>', 'the next page, as the last one named it')
    .addHelpText(
      'after',
      '\nExamples:\n  $ agent-reach dead-letters list --code agent_unavailable\n  $ agent-reach dead-letters list --json | jq -r ".items[].reach_id"',
    )
    .action((options: ListOptions, cmd: Command) =>
      withDeadLetters(context, cmd, async (session, letters) => {
        const { state, limit, cursor } = options;
        const page = await letters.list({ ...filterOf(options), state, limit, cursor });
        session.print(page, () => {
          const { io } = session;
          const next = page.next_cursor === undefined ? '' : io.color.dim(`\nmore: --cursor ${page.next_cursor}`);
          const none = state === 'open' ? 'No dead letters.' : `No dead letters that are ${state}.`;
          return (page.items.length > 0 ? renderDeadLetters(page.items, io) : none) + next;
        });
      }),
    );
}

function addShow(group: Command, context: CliContext): void {
  group
    .command('show')
    .description('the whole story: why, every attempt, the decision, the payload, and what to do next')
    .argument('<id>', 'reach id')
    .addHelpText('after', '\nExamples:\n  $ agent-reach dead-letters show REACH_ID')
    .action((id: string, _options: unknown, cmd: Command) =>
      withDeadLetters(context, cmd, async (session, letters) => {
        const letter = await letters.show(id);
        session.print(letter, () => renderDeadLetter(letter, session.io));
      }),
    );
}

/** Options of everything that redrives many. */
export interface RedriveOptions extends DeadLetterFilter {
  all?: boolean;
  yes?: boolean;
  dryRun?: boolean;
  acceptRepeat?: boolean;
  by?: string;
  limit: number;
}

/** Adds what `redrive` and `recover` share. */
export function addRedriveOptions(command: Command): Command {
  return addFilterOptions(command)
    .option('--limit <n>', 'at most so many', (text) => parseWhole(text, 1, 100_000), 10_000)
    .option('--dry-run', 'say which, and do nothing')
    .option('--accept-repeat', 'also what may be sent only once and may have been done already (at_most_once)')
    .option('--by <name>', 'who decided, for the record');
}

function addRedrive(group: Command, context: CliContext): void {
  const command = group
    .command('redrive')
    .description(
      'run dead letters again, under the same id and with a fresh budget; once, however often it is asked for',
    )
    .argument('[id...]', 'reach ids')
    .option('--all', 'every open one that fits the filters')
    .option('--yes', 'with --all: really do it');
  addRedriveOptions(command)
    .addHelpText(
      'after',
      '\nExamples:\n  $ agent-reach dead-letters redrive REACH_ID\n  $ agent-reach dead-letters redrive --all --agent refund_agent --code agent_unavailable --dry-run\n  $ agent-reach dead-letters redrive --all --agent refund_agent --yes',
    )
    .action((reachIds: string[], options: RedriveOptions, cmd: Command) => {
      checkUsage(reachIds, options);
      return withDeadLetters(context, cmd, (session, letters) =>
        options.all ? redriveFound(session, letters, options) : redriveNamed(session, letters, { reachIds, options }),
      );
    });
}

function checkUsage(reachIds: readonly string[], options: RedriveOptions): void {
  if (options.all && reachIds.length > 0) throw new UsageError('name reach ids, or --all with filters, not both');
  if (!options.all && reachIds.length === 0)
    throw new UsageError('name the reach ids, or say --all, with filters such as --agent NAME');
  if (!options.all && Object.keys(filterOf(options)).length > 0)
    throw new UsageError('filters choose among all: add --all, or leave them out');
}

async function redriveNamed(
  session: Session,
  letters: DeadLettersClient,
  { reachIds, options }: { reachIds: readonly string[]; options: RedriveOptions },
): Promise<void> {
  const { acceptRepeat, by, dryRun } = options;
  if (dryRun) {
    const items = await Promise.all([...new Set(reachIds)].map((id) => letters.show(id)));
    return rehearse(session, letters, { items, acceptRepeat });
  }
  const targets = [...new Set(reachIds)].map((reachId) => ({ reachId }));
  await redriveMany(session, letters, { targets, options: { acceptRepeat, by } });
}

/** Redrives every open dead letter that fits: also what `recover` does. */
export async function redriveFound(
  session: Session,
  letters: DeadLettersClient,
  options: RedriveOptions,
): Promise<void> {
  const { limit, dryRun, yes, acceptRepeat, by } = options;
  const items = await collect(letters, filterOf(options), { limit, signal: session.io.signal });
  if (dryRun) return rehearse(session, letters, { items, acceptRepeat });
  if (!yes && items.length > 0)
    throw new UsageError(
      `${count(items.length, 'dead letter')} would be redriven: add --yes to do it, or --dry-run to see`,
    );
  const targets = items.map(({ reach_id, run_id }) => ({ reachId: reach_id, runId: run_id }));
  await redriveMany(session, letters, { targets, options: { acceptRepeat, by } });
}

function addDiscard(group: Command, context: CliContext): void {
  group
    .command('discard')
    .description('give a dead letter up: it leaves the open ones, and is not redriven any more')
    .argument('<id>', 'reach id')
    .requiredOption('--reason <text>', 'why, for the record')
    .option('--by <name>', 'who decided, for the record')
    .addHelpText('after', "\nExamples:\n  $ agent-reach dead-letters discard REACH_ID --reason 'cancelled by phone'")
    .action((id: string, { reason, by }: { reason: string; by?: string }, cmd: Command) =>
      withDeadLetters(context, cmd, async (session, letters) => {
        const answer = await letters.discard(id, { reason, by });
        const { color } = session.io;
        const what = answer.replayed ? `was discarded before by ${answer.by}: ${answer.reason}` : 'discarded';
        session.print(answer, () => `${color.green('✓')} ${color.bold(answer.reach_id)}  ${what}`);
      }),
    );
}

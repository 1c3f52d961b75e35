import { Option, type Command } from 'commander';
import type { ListFilter } from '../../sdk/client';
import type { Page, ReachSummary } from '../../sdk/wire-types';
import type { CliIo } from '../io';
import { parseSince, parseWhole } from '../parse';
import { status } from '../render/status';
import { table } from '../render/table';
import { agentOf, ago, measured } from '../render/text';
import type { CliContext } from '../session';

const STATUSES = ['running', 'completed', 'dead_lettered', 'cancelled', 'expired', 'outcome_unknown'];

/** `list`: reaches, newest first. */
export function addList(program: Command, { run, io }: CliContext): void {
  program
    .command('list')
    .description('reaches, newest first; a new one shows up within about a second')
    .addOption(new Option('--status <status>', 'only these').choices(STATUSES))
    .option('--ability <name>', 'only for this ability')
    .option('--agent <name[#version]>', 'only those of this agent')
    .option('--source <agent>', 'only from this sender')
    .option('--since <time>', 'ISO time, or how long ago such as 15m', (text) => parseSince(text))
    .option('--limit <n>', 'rows of a page', (text) => parseWhole(text, 1, 200), 20)
    .option('--cursor <cursor>', 'the next page, as the last one named it')
    .addHelpText(
      'after',
      '\nExamples:\n  $ agent-reach list --status dead_lettered --since 1h\n  $ agent-reach list --json | jq -r ".items[].reach_id"',
    )
    .action((options: ListFilter, command: Command) =>
      run(command, async (session) => {
        const { status: only, ability, agent, source, since, limit, cursor } = options;
        const page = await session.client.list({ status: only, ability, agent, source, since, limit, cursor });
        session.print(page, () => renderPage(page, io));
      }),
    );
}

function renderPage(page: Page<ReachSummary>, io: CliIo): string {
  if (page.items.length === 0) return 'No reaches.';
  const rows = page.items.map((reach) => [
    reach.reach_id,
    status(reach.status, io.color),
    reach.ability ?? '-',
    agentOf(reach.agent_name, reach.agent_version),
    reach.source_agent ?? '-',
    ago(reach.accepted_at),
    measured(reach.duration_ms),
  ]);
  const next = page.next_cursor === undefined ? '' : io.color.dim(`\nmore: --cursor ${page.next_cursor}`);
  return table(['REACH', 'STATUS', 'ABILITY', 'AGENT', 'FROM', 'ACCEPTED', 'TOOK'], rows, io) + next;
}

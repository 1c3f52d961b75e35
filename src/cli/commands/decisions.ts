import type { Command } from 'commander';
import type { DecisionFilter, DecisionsClient, LoggedDecision } from '../../sdk/decisions';
import { addFilterOptions, filterOf } from '../decisions/filter';
import { writeExport } from '../decisions/export-file';
import { parseWhole } from '../parse';
import { printableAnswers } from '../printable';
import { renderDecision, renderDecisions } from '../render/decisions';
import { count } from '../render/text';
import type { CliContext, Session } from '../session';
import { addReplay } from './decisions-replay';

const EXAMPLES = `
Examples:
  $ agent-reach decisions list --agent refund_agent --since 1h
  $ agent-reach decisions show DECISION_ID                            why this agent, factor by factor
  $ agent-reach decisions replay --since 1h --without refund_agent    who would have taken its calls
  $ agent-reach decisions export decisions.jsonl.gz --since 24h       to replay it anywhere, without the platform`;

/** `decisions list|show|export|replay` (R23). */
export function addDecisions(program: Command, context: CliContext): void {
  const group = program
    .command('decisions')
    .description('what routing decided and why, and what it would have decided otherwise')
    .addHelpText('after', EXAMPLES);
  addList(group, context);
  addShow(group, context);
  addExport(group, context);
  addReplay(group, context);
}

interface ListOptions extends DecisionFilter {
  limit: number;
  cursor?: string;
}

function addList(group: Command, { run }: CliContext): void {
  const command = group.command('list').description('newest first; refused requests too');
  addFilterOptions(command)
    .option('--limit <n>', 'rows of a page', (text) => parseWhole(text, 1, 200), 20)
    .option('--cursor <cursor>', 'the next page, as the last one named it')
    .action((options: ListOptions, self: Command) =>
      run(self, async (session) => {
        const { limit, cursor } = options;
        const asked = { ...filterOf(options), limit, ...(cursor !== undefined && { cursor }) };
        const page = await clientOf(session).list(asked, { signal: session.io.signal });
        session.print(page, () => {
          const { io } = session;
          const next = page.next_cursor === undefined ? '' : io.color.dim(`\nmore: --cursor ${page.next_cursor}`);
          return (page.items.length > 0 ? renderDecisions(page.items, io) : 'No decisions.') + next;
        });
      }),
    );
}

function addShow(group: Command, { run }: CliContext): void {
  group
    .command('show')
    .description('why this agent: every factor of every candidate, and who was left out for what')
    .argument('<id>', 'decision_id of a receipt, a result or an error')
    .addHelpText('after', '\nExamples:\n  $ agent-reach decisions show DECISION_ID')
    .action((id: string, _options: unknown, self: Command) =>
      run(self, async (session) => {
        const decision = await clientOf(session).get(id, { signal: session.io.signal });
        session.print(decision, () => renderDecision(decision, session.io));
      }),
    );
}

function addExport(group: Command, { run }: CliContext): void {
  const command = group
    .command('export')
    .description('write decisions with all they were made of, one a line, to replay them anywhere')
    .argument('<file>', 'JSON lines; packed when the name ends with .gz');
  addFilterOptions(command)
    .option('--limit <n>', 'at most so many, the newest', (text) => parseWhole(text, 1, 100_000_000))
    .addHelpText('after', '\nExamples:\n  $ agent-reach decisions export decisions.jsonl.gz --since 24h')
    .action((file: string, options: DecisionFilter & { limit?: number }, self: Command) =>
      run(self, async (session) => {
        const all = session.client.decisions.all({ ...filterOf(options), inputs: true }, { signal: session.io.signal });
        const written = await writeExport(file, atMost(all, options.limit ?? Infinity));
        session.print({ file, decisions: written }, () => `${count(written, 'decision')} in ${file}`);
      }),
    );
}

async function* atMost(decisions: AsyncIterable<LoggedDecision>, limit: number): AsyncGenerator<LoggedDecision> {
  let left = limit;
  for await (const decision of decisions) {
    yield decision;
    if (--left <= 0) return;
  }
}

/** Without `--json` what it answers is safe to print. */
export function clientOf({ client, json }: Session): DecisionsClient {
  return json ? client.decisions : printableAnswers(client.decisions);
}

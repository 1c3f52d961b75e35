import type { Command } from 'commander';
import type { EventFilter, Subscription, SubscriptionsClient } from '../../sdk/subscriptions';
import { UsageError } from '../exit-codes';
import { collectPair, parseWhole } from '../parse';
import { printableAnswers } from '../printable';
import { renderSubscriptions } from '../render/subscriptions';
import type { CliContext, Session } from '../session';

interface ListOptions {
  topic?: string;
  agent?: string;
  ability?: string;
  limit: number;
  cursor?: string;
}

interface PutOptions {
  topic: string;
  agent?: string;
  ability?: string;
  type?: string;
  exact?: Record<string, string>;
  prefix?: Record<string, string>;
  suffix?: Record<string, string>;
}

/** `subscriptions list|put|delete`: who gets the events of which topics (R3). */
export function addSubscriptions(program: Command, context: CliContext): void {
  const group = program
    .command('subscriptions')
    .description('who gets the events of which topics')
    .addHelpText(
      'after',
      "\nExamples:\n  $ agent-reach subscriptions put audit-orders --topic 'orders.*' --agent audit_agent\n  $ agent-reach subscriptions list --topic orders.created\n  $ agent-reach subscriptions delete audit-orders",
    );
  addList(group, context);
  addPut(group, context);
  addDelete(group, context);
}

function addList(group: Command, { run }: CliContext): void {
  group
    .command('list')
    .description('subscriptions by id')
    .option('--topic <topic>', 'those that would get events of this topic')
    .option('--agent <name[#version]>', 'of this agent')
    .option('--ability <name>', 'for this ability')
    .option('--limit <n>', 'rows of a page', (text) => parseWhole(text, 1, 200), 50)
    .option('--cursor <cursor>', 'the next page, as the last one named it')
    .action((options: ListOptions, self: Command) =>
      run(self, async (session) => {
        const { io } = session;
        const page = await clientOf(session).list(options, { signal: io.signal });
        session.print(page, () => {
          const next = page.next_cursor === undefined ? '' : io.color.dim(`\nmore: --cursor ${page.next_cursor}`);
          return (page.items.length > 0 ? renderSubscriptions(page.items, io) : 'No subscriptions.') + next;
        });
      }),
    );
}

function addPut(group: Command, { run }: CliContext): void {
  group
    .command('put')
    .description('subscribe an agent or an ability; the same id again replaces what it says')
    .argument('<id>', 'letters, digits, . _ -')
    .requiredOption('--topic <topic>', "a topic, 'orders.*' for all below it, '*' for all")
    .option('--agent <name[#version]>', 'this agent')
    .option('--ability <name>', 'whoever is best at this ability')
    .option('--type <type>', 'message type of the deliveries (default: what the subscriber accepts)')
    .option('--exact <attribute=value>', 'only events whose attribute is this; may be repeated', collectPair)
    .option('--prefix <attribute=value>', 'only events whose attribute begins so; may be repeated', collectPair)
    .option('--suffix <attribute=value>', 'only events whose attribute ends so; may be repeated', collectPair)
    .action((id: string, { topic, agent, ability, type, ...filters }: PutOptions, self: Command) => {
      if (agent === undefined && ability === undefined) throw new UsageError('name an --agent, an --ability, or both');
      return run(self, async (session) => {
        const filter = filterOf(filters);
        const body = { topic, agent, ability, type, ...(filter && { filter }) };
        const subscription = await clientOf(session).put(id, body, { signal: session.io.signal });
        session.print(subscription, () => told(subscription, session));
      });
    });
}

function addDelete(group: Command, { run }: CliContext): void {
  group
    .command('delete')
    .description('end a subscription; events that were accepted before are delivered all the same')
    .argument('<id>')
    .action((id: string, _options: unknown, self: Command) =>
      run(self, async (session) => {
        await clientOf(session).delete(id, { signal: session.io.signal });
        const { color } = session.io;
        session.print({ id, deleted: true }, () => `${color.green('✓')} ${color.bold(id)}  deleted`);
      }),
    );
}

function filterOf({ exact, prefix, suffix }: Pick<PutOptions, 'exact' | 'prefix' | 'suffix'>): EventFilter | undefined {
  if (exact === undefined && prefix === undefined && suffix === undefined) return undefined;
  return { ...(exact && { exact }), ...(prefix && { prefix }), ...(suffix && { suffix }) };
}

function told({ id, topic, agent, ability }: Subscription, { io: { color } }: Session): string {
  const whom = [ability, agent && `${ability === undefined ? '' : 'at '}${agent}`].filter(Boolean).join(' ');
  return `${color.green('✓')} ${color.bold(id)}  ${topic} → ${whom}`;
}

/** Without `--json` what it answers is safe to print. */
function clientOf({ client, json }: Session): SubscriptionsClient {
  return json ? client.subscriptions : printableAnswers(client.subscriptions);
}

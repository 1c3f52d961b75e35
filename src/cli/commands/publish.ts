import { Option, type Command } from 'commander';
import { ReachError } from '../../protocol/reach-error';
import type { Json } from '../../protocol/shapes';
import { parseJsonStrict } from '../../protocol/strict-json';
import { readText } from '../envelope-options';
import { UsageError } from '../exit-codes';
import type { CliIo } from '../io';
import { collectPair } from '../parse';
import { renderPublished } from '../render/subscriptions';
import type { CliContext } from '../session';

const EXAMPLES = `
Examples:
  $ agent-reach publish orders.created -p '{"order":7}' --type order.created --source /shop --id order-7-created
  $ agent-reach publish orders.created -p @order.json --ext region=eu`;

interface PublishCommandOptions {
  payload: string;
  id?: string;
  source?: string;
  type?: string;
  subject?: string;
  time?: string;
  ext?: Record<string, string>;
}

/** `publish TOPIC`: an event for everybody who subscribes to the topic (R3). */
export function addPublish(program: Command, { run, io }: CliContext): void {
  program
    .command('publish')
    .description('publish an event to everybody who subscribes to a topic')
    .argument('<topic>', 'such as orders.created')
    .option('-p, --payload <json>', "the event's data: JSON, @FILE, or - for stdin", '{}')
    .option('--id <id>', 'the same id of the same source is the same event (default: a new one)')
    .option('--source <uri>', 'where it comes from (default: agent-reach-client)')
    .addOption(new Option('--type <type>', 'type of the event').default('event'))
    .option('--subject <text>', 'what it is about')
    .option('--time <time>', 'when it happened, such as 2026-05-04T08:30:00Z')
    .option('--ext <name=value>', 'a further CloudEvents attribute; may be repeated', collectPair)
    .addHelpText('after', EXAMPLES)
    .action((topic: string, { payload, ext, ...attributes }: PublishCommandOptions, self: Command) =>
      run(self, async (session) => {
        const data = await readJson(payload, io);
        const options = { ...attributes, extensions: ext, signal: io.signal };
        const published = await session.client.publish(topic, data, options);
        session.print(published, () => renderPublished(topic, published, io));
      }),
    );
}

/** Any JSON value: an event's data need not be an object. */
async function readJson(given: string, io: CliIo): Promise<Json> {
  const { what, text } = await readText(given, io);
  try {
    return parseJsonStrict(text, { what });
  } catch (caught) {
    throw new UsageError(`${what}: ${ReachError.from(caught).message.replace(`${what} `, '')}`);
  }
}

import type { Command } from 'commander';
import { readChanges, type PatchOptions } from '../context-changes';
import { printableAnswers } from '../printable';
import { renderContext, renderPatched } from '../render/context';
import type { CliContext, Session } from '../session';

const EXAMPLES = `
Examples:
  $ agent-reach context get ticket-4711
  $ agent-reach context patch ticket-4711 --set 'customer={"id":"c-17"}' --base-version 0
  $ agent-reach context patch ticket-4711 --append 'log="asked for a refund"' --delete draft --base-version draft=4709
  $ agent-reach context patch ticket-4711 -p @changes.json`;

/** `context get ID` and `context patch ID` (R32). */
export function addContext(program: Command, { io, run }: CliContext): void {
  const context = program.command('context').description('fields that reaches share').addHelpText('after', EXAMPLES);
  context
    .command('get')
    .description('the fields of a context with their versions')
    .argument('<id>', 'context id')
    .option('--field <name>', 'only this field; may be repeated', collect)
    .action((id: string, { field }: { field?: string[] }, command: Command) =>
      run(command, async (session) => {
        const found = await clientOf(session).get(id, { fields: field, signal: io.signal });
        session.print(found, () => renderContext(found, io));
      }),
    );
  context
    .command('patch')
    .description('change fields, all or none of them; exit code 1 when another has changed one meanwhile')
    .argument('<id>', 'context id')
    .option('--set <field=json>', 'set a field; may be repeated', collect)
    .option('--append <field=json>', 'put a value at the end of a list; may be repeated', collect)
    .option('--delete <field>', 'delete a field; may be repeated', collect)
    .option('--base-version <[field=]n>', 'the version that was seen, 0 for a new field; may be repeated', collect)
    .option('--force', 'set and delete whatever there is')
    .option('-p, --patch <json>', 'the whole body: JSON, @FILE, or - for stdin')
    .action((id: string, options: PatchOptions, command: Command) =>
      run(command, async (session) => {
        const operations = await readChanges(options, io);
        const patched = await clientOf(session).patch(id, operations, { signal: io.signal });
        session.print(patched, () => renderPatched(patched, io));
      }),
    );
}

/** Without `--json`, what it answers is safe to print. */
function clientOf({ client, json }: Session): Session['client']['contexts'] {
  return json ? client.contexts : printableAnswers(client.contexts);
}

const collect = (text: string, previous: string[] = []): string[] => [...previous, text];

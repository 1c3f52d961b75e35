import { Option, type Command } from 'commander';
import type { AbilityHit, AbilityView } from '../../sdk/wire-types';
import { typeOfSchema } from '../codegen/schema-types';
import { writeModule } from '../codegen/write';
import { LANGUAGES, type Language } from '../codegen/render';
import { UsageError } from '../exit-codes';
import type { CliIo } from '../io';
import { parseWhole } from '../parse';
import { status } from '../render/status';
import { facts, table } from '../render/table';
import { agentOf, fit, score, SHARE_NOTE, shareOf } from '../render/text';
import type { CliContext, Session } from '../session';

interface AbilitiesOptions {
  search?: string;
  limit?: number;
  codegen?: Language;
  out?: string;
  check?: boolean;
}

/** Columns for the names of agents on a terminal: the description needs room too. */
const AGENTS_WIDTH = 28;

const EXAMPLES = `
Examples:
  $ agent-reach abilities
  $ agent-reach abilities product_qa_answer
  $ agent-reach abilities --search "the parcel arrived broken"
  $ agent-reach abilities --codegen --out src/abilities.ts          typed names, so that a typo does not compile
  $ agent-reach abilities --codegen --out src/abilities.ts --check  for CI: exit code 1 when the file is stale
  $ agent-reach abilities --codegen python --out abilities.py`;

/** `abilities [NAME]`: the catalogue, one entry, a search by meaning, or the catalogue as code (R15). */
export function addAbilities(program: Command, { run }: CliContext): void {
  program
    .command('abilities')
    .description('the abilities there are, or who offers one')
    .argument('[name]')
    .option('--search <text>', 'by meaning, best first')
    .option('--limit <n>', 'most hits of a search', (text) => parseWhole(text, 1, 1_000))
    .addOption(
      new Option('--codegen [language]', 'the catalogue as typed constants')
        .choices(LANGUAGES)
        .preset('ts' satisfies Language),
    )
    .option('--out <file>', 'with --codegen: write it there')
    .option('--check', 'with --out: write nothing, end with 1 when the file is not what it should be')
    .addHelpText('after', EXAMPLES)
    .action((name: string | undefined, options: AbilitiesOptions, command: Command) =>
      run(command, (session) => abilities(session, name, options)),
    );
}

async function abilities(session: Session, name: string | undefined, options: AbilitiesOptions): Promise<void> {
  if ([name, options.search, options.codegen].filter((given) => given !== undefined).length > 1)
    throw new UsageError('give a name, --search or --codegen, not several of them');
  if (options.codegen !== undefined) return writeModule(session, options.codegen, options);
  if (options.out !== undefined || options.check) throw new UsageError('--out and --check belong to --codegen');
  const { client, io, print } = session;
  if (options.search !== undefined) {
    const hits = await client.searchAbilities(options.search, { limit: options.limit });
    return print({ results: hits }, () => (hits.length > 0 ? renderHits(hits, io) : 'Nothing fits.'));
  }
  if (name !== undefined) {
    const ability = await client.ability(name);
    return print(ability, () => renderAbility(ability, io));
  }
  const page = await client.abilities();
  print(page, () =>
    page.items.length > 0 ? renderList(page.items, io) : 'No abilities yet; `agent-reach register FILE` brings some.',
  );
}

function renderList(items: readonly AbilityView[], io: CliIo): string {
  const agents = (ability: AbilityView) =>
    io.columns === undefined ? agentsOf(ability) : fit(agentsOf(ability), AGENTS_WIDTH);
  const rows = items.map((ability) => [ability.name, agents(ability), readiness(ability, io), ability.description]);
  return table(['ABILITY', 'AGENTS', 'READY', { title: 'DESCRIPTION', flexible: true }], rows, io);
}

const agentsOf = (ability: AbilityView) => [...new Set(ability.agents.map(({ agent_name }) => agent_name))].join(', ');

function readiness(ability: AbilityView, io: CliIo): string {
  const ready = ability.agents.filter(({ status: value }) => value === 'ready').length;
  const text = `${ready}/${ability.agents.length}`;
  return ready > 0 ? io.color.green(text) : io.color.red(text);
}

function renderAbility(ability: AbilityView, io: CliIo): string {
  const rows = ability.agents.map((agent) => [
    agentOf(agent.agent_name, agent.agent_version),
    status(agent.status, io.color),
    agent.description,
  ]);
  const top = facts(
    [
      ['ability', io.color.bold(ability.name)],
      ['about', ability.description || undefined],
    ],
    io,
  );
  const offers = table(['AGENT', 'STATUS', { title: 'DESCRIPTION', flexible: true }], rows, io);
  return [top, offers, ...shapes(ability, io)].join('\n\n');
}

/** What it is sent and what it answers, as types, once for agents that agree. */
function shapes({ agents }: AbilityView, { color }: CliIo): string[] {
  const told = new Map<string, string[]>();
  for (const { agent_name, agent_version, input_schema, output_schema } of agents) {
    if (input_schema === undefined && output_schema === undefined) continue;
    const text = `${color.dim('input')}   ${typeOfSchema(input_schema)}\n${color.dim('output')}  ${typeOfSchema(output_schema)}`;
    told.set(text, [...(told.get(text) ?? []), agentOf(agent_name, agent_version)]);
  }
  return [...told].map(([text, who]) => (told.size > 1 ? `${color.bold(who.join(', '))}\n${text}` : text));
}

function renderHits(hits: readonly AbilityHit[], io: CliIo): string {
  const rows = hits.map((hit) => [
    hit.ability,
    agentOf(hit.agent_name, hit.agent_version),
    shareOf(hit),
    score(hit.score),
    score(hit.confidence),
  ]);
  return `${table(['ABILITY', 'AGENT', 'SHARE', 'SCORE', 'CONFIDENCE'], rows, io)}\n${io.color.dim(SHARE_NOTE)}`;
}

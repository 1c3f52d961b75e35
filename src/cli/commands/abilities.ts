import type { Command } from 'commander';
import type { AbilityHit, AbilityView } from '../../sdk/wire-types';
import { UsageError } from '../exit-codes';
import type { CliIo } from '../io';
import { parseWhole } from '../parse';
import { printable } from '../printable';
import { renderCatalogue } from '../render/catalogue';
import { status } from '../render/status';
import { facts, table } from '../render/table';
import { agentOf, fit, score } from '../render/text';
import type { CliContext, Session } from '../session';

interface AbilitiesOptions {
  search?: string;
  limit?: number;
  codegen?: boolean;
}

/** Columns for the names of agents on a terminal: the description needs room too. */
const AGENTS_WIDTH = 28;

const EXAMPLES = `
Examples:
  $ agent-reach abilities
  $ agent-reach abilities product_qa_answer
  $ agent-reach abilities --search "the parcel arrived broken"
  $ agent-reach abilities --codegen > src/abilities.ts      typed names, so that a typo does not compile`;

/** `abilities [NAME]`: the catalogue, one entry, a search by meaning, or the catalogue as TypeScript (R15). */
export function addAbilities(program: Command, { run }: CliContext): void {
  program
    .command('abilities')
    .description('the abilities there are, or who offers one')
    .argument('[name]')
    .option('--search <text>', 'by meaning, best first')
    .option('--limit <n>', 'most hits of a search', (text) => parseWhole(text, 1, 1_000))
    .option('--codegen', 'print the catalogue as typed TypeScript constants')
    .addHelpText('after', EXAMPLES)
    .action((name: string | undefined, options: AbilitiesOptions, command: Command) =>
      run(command, (session) => abilities(session, name, options)),
    );
}

async function abilities(session: Session, name: string | undefined, options: AbilitiesOptions): Promise<void> {
  if ([name, options.search, options.codegen].filter((given) => given !== undefined).length > 1)
    throw new UsageError('give a name, --search or --codegen, not several of them');
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
  if (options.codegen) return io.out(renderCatalogue(printable(page.items)));
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
  return `${top}\n\n${table(['AGENT', 'STATUS', { title: 'DESCRIPTION', flexible: true }], rows, io)}`;
}

function renderHits(hits: readonly AbilityHit[], io: CliIo): string {
  const rows = hits.map((hit) => [
    hit.ability,
    agentOf(hit.agent_name, hit.agent_version),
    score(hit.score),
    score(hit.confidence),
  ]);
  return table(['ABILITY', 'AGENT', 'SCORE', 'CONFIDENCE'], rows, io);
}

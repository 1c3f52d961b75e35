/** The sets that come with the project: tickets for four agents, and the catalogue in several settings. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { catalogueAbilities, catalogueSet, type CatalogueOptions } from './catalogue';
import { drawSet, languageOf, type LabelledSet } from './labelled-set';

interface Ticket {
  text: string;
  agent: string;
}

interface AgentFile {
  name: string;
  capabilities: { description: string; examples: string[] }[];
}

const TICKET_FILES = ['test/fixtures/tickets.jsonl', 'examples/ticket-desk/tickets.jsonl'];
const AGENTS = 'examples/ticket-desk/agents';

/** Settings of the catalogue: which languages its examples and its queries are in. */
const SETTINGS: Record<string, Omit<CatalogueOptions, 'seed'>> = {
  'catalogue, both languages': { examples: { en: 3, zh: 2 } },
  'catalogue, English': { examples: { en: 5 } },
  'catalogue, English, familiar phrases': { examples: { en: 5 }, familiar: true },
  'catalogue, Chinese': { examples: { zh: 3 } },
  'catalogue, English examples, Chinese queries': { examples: { en: 5 }, queries: ['zh'] },
  'catalogue, descriptions only': { examples: {}, queries: ['en', 'zh'] },
};

/** All of them; `root` is the project's folder. The first one is the headline. */
export function builtInSets(root: string, seed: number): LabelledSet[] {
  return [...Object.keys(SETTINGS).map((name) => catalogue(name, seed)), tickets(root, seed)];
}

function catalogue(name: string, seed: number): LabelledSet {
  const options = SETTINGS[name]!;
  const { train, ...asked } = catalogueSet({ seed, ...options });
  const descriptions = new Map(catalogueAbilities().map((ability) => [ability.name, ability.description]));
  const hasExamples = train.length > 0;
  // Public sets have label names only; with examples the catalogue is made as hard, without them it has its sentences.
  const describe = hasExamples ? undefined : (label: string) => descriptions.get(label)!;
  const labels = [...descriptions.keys()].map((label): [string, string] => [label, label]);
  const perLabel = Math.max(0, ...Object.values(options.examples).map(Number), hasExamples ? 5 : 0);
  return drawSet({ train: hasExamples ? train : labels, ...asked }, { name, perLabel, seed, describe });
}

/** The four agents of the ticket desk as they stand, and every ticket we have; off topic is what the catalogue's is. */
function tickets(root: string, seed: number): LabelledSet {
  const read = (path: string) => readFileSync(join(root, path), 'utf8');
  const abilities = readdirSync(join(root, AGENTS)).map((file) => {
    const { name, capabilities } = parse(read(join(AGENTS, file))) as AgentFile;
    return { label: name, description: capabilities[0]!.description, examples: capabilities[0]!.examples };
  });
  const lines = TICKET_FILES.flatMap((path) => read(path).trim().split('\n'));
  const asked = lines.map((line) => {
    const { text, agent } = JSON.parse(line) as Ticket;
    return { text, label: agent, language: languageOf(text) };
  });
  const offTopic = catalogueSet({ seed, examples: {}, queries: ['en', 'zh'] }).oos_test;
  const queries = [...asked, ...offTopic.map(([text]) => ({ text, label: null, language: languageOf(text) }))];
  return { name: 'tickets of four agents', abilities, queries };
}

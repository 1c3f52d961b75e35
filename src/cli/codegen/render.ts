/** The catalogue as a module to share, so that a typo does not compile (R15). Pure: the same catalogue, the same text. */
import { agentOf } from '../render/text';
import type { CatalogueEntry } from './catalogue';
import { constantName, identifiersFor, typeName } from './identifiers';
import { typeOfSchema } from './schema-types';

/** What can be written. */
export const LANGUAGES = ['ts', 'python', 'json'] as const;
export type Language = (typeof LANGUAGES)[number];

/** The text of the module. Names and descriptions are data of agents: none of them can end a comment or a string. */
export function renderModule(catalogue: readonly CatalogueEntry[], language: Language): string {
  return { ts: typescript, python, json }[language](catalogue);
}

const regenerate = (language: Language) =>
  `agent-reach abilities --codegen${language === 'ts' ? '' : ` ${language}`} --out FILE`;
const header = (language: Language) =>
  `Written by \`${regenerate(language)}\`; do not edit. With --check it says whether this is stale.`;

function typescript(catalogue: readonly CatalogueEntry[]): string {
  const names = catalogue.map(({ name }) => name);
  const constants = identifiersFor(names, constantName);
  const types = identifiersFor(names, (name) => `${typeName(name)}Input`);
  const outputs = identifiersFor(names, (name) => `${typeName(name)}Output`);
  const entries = catalogue.map((one) => `${tsComment(one, '  ')}  ${constants.get(one.name)}: ${quoted(one.name)},\n`);
  const declared = catalogue.flatMap(({ name, input_schema, output_schema }) => [
    `/** What ${inComment(name)} is sent. */\nexport type ${types.get(name)} = ${typeOfSchema(input_schema)};\n`,
    `/** What ${inComment(name)} answers. */\nexport type ${outputs.get(name)} = ${typeOfSchema(output_schema)};\n`,
  ]);
  const inputMap = catalogue.map(({ name }) => `  ${quoted(name)}: ${types.get(name)};\n`);
  const outputMap = catalogue.map(({ name }) => `  ${quoted(name)}: ${outputs.get(name)};\n`);
  return [
    `// ${header('ts')}\n/* eslint-disable */\n\n`,
    `/** Every ability of the catalogue. */\nexport const ABILITIES = {\n${entries.join('')}} as const;\n\n`,
    '/** The name of an ability. */\nexport type AbilityName = (typeof ABILITIES)[keyof typeof ABILITIES];\n\n',
    declared.join('\n'),
    declared.length > 0 ? '\n' : '',
    `/** Payloads by ability. */\nexport interface AbilityInputs {\n${inputMap.join('')}}\n\n`,
    `/** Answers by ability: \`reach.invokeAbility<AbilityOutputs['…']>(…)\`. */\nexport interface AbilityOutputs {\n${outputMap.join('')}}\n`,
  ].join('');
}

function python(catalogue: readonly CatalogueEntry[]): string {
  const constants = identifiersFor(
    catalogue.map(({ name }) => name),
    constantName,
  );
  const lines = catalogue.map(
    (one) => `${pythonComment(one)}${constants.get(one.name)}: Final = ${quoted(one.name)}\n`,
  );
  const all = catalogue.map(({ name }) => `    ${quoted(name)},\n`);
  const literal = catalogue.length > 0 ? `Literal[\n${all.join('')}]` : 'NoReturn';
  return [
    `# ${header('python')}\nfrom typing import Final, Literal, NoReturn\n\n`,
    `${lines.join('')}${lines.length > 0 ? '\n' : ''}# The name of an ability.\nAbilityName = ${literal}\n`,
    `\nABILITIES: Final = (\n${all.join('')})\n`,
  ].join('');
}

function json(catalogue: readonly CatalogueEntry[]): string {
  return `${JSON.stringify({ $comment: header('json'), abilities: catalogue }, null, 2)}\n`;
}

function tsComment({ description, agents }: CatalogueEntry, indent: string): string {
  const text = [description.trim(), `Offered by ${agents.map((agent) => agentOf(agent, null)).join(', ')}.`]
    .filter(Boolean)
    .join(' ');
  return `${indent}/** ${inComment(text)} */\n`;
}

function pythonComment({ description }: CatalogueEntry): string {
  return description.trim() === '' ? '' : `# ${inComment(description)}\n`;
}

/** One line that can neither end the comment it stands in nor turn what follows around. */
function inComment(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .replaceAll('*/', '* /')
    .replaceAll('@', '＠')
    .trim()
    .slice(0, 300);
}

/** A string literal of TypeScript and Python alike: escapes beyond ASCII quotes are those that both know. */
function quoted(text: string): string {
  return JSON.stringify(text).replace(
    /[\u2028\u2029\u202a-\u202e\u2066-\u2069\u007f-\u009f]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

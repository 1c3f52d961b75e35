import type { AbilityView } from '../../sdk/wire-types';

/**
 * The catalogue as a TypeScript module to share (R15): `Ability` is the union of all names, `ABILITIES` maps a constant
 * for each to its name. Names that would become the same constant are told apart by a number.
 */
export function renderCatalogue(abilities: readonly AbilityView[]): string {
  const constants = constantsFor(abilities.map(({ name }) => name));
  const entries = abilities.map(
    ({ name, description }, index) => `${comment(description)}  ${constants[index]}: ${JSON.stringify(name)},\n`,
  );
  return [
    '// Written by `agent-reach abilities --codegen`; do not edit.\n\n',
    '/** Every ability of the catalogue. */\n',
    `export const ABILITIES = {\n${entries.join('')}} as const;\n\n`,
    '/** The name of an ability. */\n',
    'export type Ability = (typeof ABILITIES)[keyof typeof ABILITIES];\n',
  ].join('');
}

function constantsFor(names: readonly string[]): string[] {
  const used = new Map<string, number>();
  return names.map((name) => {
    const base = name
      .replace(/[^\p{L}\p{N}]+/gu, '_')
      .replace(/^(?=\p{N})|^$/u, '_')
      .toUpperCase();
    const nth = (used.get(base) ?? 0) + 1;
    used.set(base, nth);
    return nth === 1 ? base : `${base}_${nth}`;
  });
}

const comment = (text: string) =>
  text.trim() === '' ? '' : `  /** ${text.replace(/\s+/g, ' ').replaceAll('*/', '* /').trim()} */\n`;

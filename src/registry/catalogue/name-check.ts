/** Are the names of a descriptor fit for the catalogue (R15)? Pure; the store brings the catalogue. */
import type { Descriptor } from '../../protocol/descriptor';
import { nearMiss } from '../../protocol/near-miss';
import type { FieldError } from '../../protocol/reach-error';
import type { NameIndex } from './name-index';

/** Every name in use by the *other* descriptors: ability names with one agent that offers each, and agent names. */
export interface Catalogue {
  abilities: ReadonlyMap<string, string>;
  agents: ReadonlySet<string>;
}

/** What was found. A collision refuses the descriptor; a near miss warns, or refuses in strict mode. */
export interface NameFindings {
  collisions: FieldError[];
  nearMisses: FieldError[];
}

/** Abilities of one descriptor that are compared with each other. */
const MAX_COMPARED_WITHIN = 200;

/** Judges the agent's name and its ability names against the catalogue and the abilities against each other. */
export function checkNames(descriptor: Descriptor, catalogue: Catalogue, index: NameIndex): NameFindings {
  const abilities = descriptor.capabilities.map((capability, position) => ({
    name: capability.name,
    pointer: `/capabilities/${position}/name`,
  }));
  const agent = { name: descriptor.name, pointer: '/name' };
  return {
    collisions: [
      ...collisions([agent], catalogue.agents, index),
      ...collisions(abilities, catalogue.abilities.keys(), index),
      ...repeated(abilities, index),
    ],
    nearMisses: [
      ...nearAgent(agent, catalogue.agents, index),
      ...abilities.flatMap((ability) => nearAbility(ability, catalogue.abilities, index)),
      ...nearEachOther(abilities, index),
    ],
  };
}

interface PlacedName {
  name: string;
  pointer: string;
}

function collisions(names: PlacedName[], known: Iterable<string>, index: NameIndex): FieldError[] {
  const wanted = new Map(names.map((placed) => [index.skeletonOf(placed.name), placed]));
  const found: FieldError[] = [];
  for (const other of known) {
    const placed = wanted.get(index.skeletonOf(other));
    if (placed !== undefined && placed.name !== other) found.push(collision(placed, other, 'is already registered'));
  }
  return found;
}

function repeated(names: PlacedName[], index: NameIndex): FieldError[] {
  const first = new Map<string, string>();
  return names.flatMap((placed) => {
    const form = index.skeletonOf(placed.name);
    const earlier = first.get(form);
    if (earlier === undefined) first.set(form, placed.name);
    return earlier === undefined ? [] : [collision(placed, earlier, 'stands earlier in this descriptor')];
  });
}

function collision({ name, pointer }: PlacedName, other: string, where: string): FieldError {
  const message = name === other ? `'${name}' ${where}` : `'${name}' reads the same as '${other}', which ${where}`;
  const fix =
    name === other
      ? 'remove one of them'
      : `use '${other}' exactly, or a name that differs by more than case, separators, width or look-alike letters`;
  return { pointer, message, fix };
}

/** The likeliest name that this one would be mixed up with. */
function nearest(name: string, known: Iterable<string>, index: NameIndex): { name: string; why: string } | null {
  for (const other of index.candidates(name, known)) {
    const why = other === name ? null : nearMiss(name, other);
    if (why !== null) return { name: other, why };
  }
  return null;
}

function nearAgent({ name, pointer }: PlacedName, known: ReadonlySet<string>, index: NameIndex): FieldError[] {
  if (known.has(name)) return [];
  const near = nearest(name, known, index);
  if (near === null) return [];
  const message = `agent '${name}' is near agent '${near.name}' (${near.why})`;
  return [{ pointer, message, fix: `use '${near.name}' and another version if it is the same agent` }];
}

function nearAbility(
  { name, pointer }: PlacedName,
  known: ReadonlyMap<string, string>,
  index: NameIndex,
): FieldError[] {
  if (known.has(name)) return [];
  const near = nearest(name, known.keys(), index);
  if (near === null) return [];
  const message = `ability '${name}' is near '${near.name}' of agent ${known.get(near.name)} (${near.why})`;
  return [{ pointer, message, fix: `use '${near.name}' if the same ability is meant` }];
}

/** Abilities of one descriptor against each other; a longer list was not written by hand and is not compared. */
function nearEachOther(abilities: readonly PlacedName[], index: NameIndex): FieldError[] {
  if (abilities.length > MAX_COMPARED_WITHIN) return [];
  return abilities.flatMap(({ name, pointer }, position) => {
    const earlier = abilities.slice(0, position).map((placed) => placed.name);
    const near = earlier.includes(name) ? null : nearest(name, earlier, index);
    if (near === null) return [];
    const message = `ability '${name}' is near '${near.name}', which stands earlier in this descriptor (${near.why})`;
    return [{ pointer, message, fix: 'keep one of them if the same ability is meant' }];
  });
}

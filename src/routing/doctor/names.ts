/** Whether names and descriptions tell abilities apart (R15, R39). Pure; who calls brings the catalogue and the search. */
import { setImmediate } from 'node:timers/promises';
import type { Descriptor } from '../../protocol/descriptor';
import { fine, notChecked, orFine, type Finding } from '../../protocol/doctor';
import { nearMiss } from '../../protocol/near-miss';

/** A longer catalogue is compared in part: the comparison is quadratic. */
const MAX_NAMES = 2_000;
/** So many findings of one kind are told; the rest is counted. */
const MAX_TOLD = 20;

/** So long at a stretch, ms: other requests come in between. */
const STRETCH_MS = 10;

/** Names of abilities, or of agents, that would be mixed up. */
async function nearNames(names: Iterable<string>, kind: 'ability' | 'agent'): Promise<Finding[]> {
  const sorted = [...new Set(names)].sort().slice(0, MAX_NAMES);
  const found: Finding[] = [];
  let pauseAtMs = performance.now() + STRETCH_MS;
  for (const [at, name] of sorted.entries()) {
    for (let next = at + 1; next < sorted.length; next++) {
      const why = nearMiss(name, sorted[next]!);
      if (why !== null) found.push(mixedUp(kind, [name, sorted[next]!], why));
    }
    if (performance.now() < pauseAtMs) continue;
    await setImmediate();
    pauseAtMs = performance.now() + STRETCH_MS;
  }
  return found;
}

function mixedUp(kind: 'ability' | 'agent', [name, other]: readonly [string, string], why: string): Finding {
  return {
    id: 'names.near',
    severity: 'warning',
    subject: `${name}, ${other}`,
    measured: `the ${kind === 'ability' ? 'abilities' : 'agents'} ${name} and ${other} differ by ${why} only`,
    why: 'callers take one for the other, and half of the calls go astray or are refused',
    fix: 'use one of the names for both, or names that differ in what they say; registry.strict_names refuses such names',
    command: kind === 'ability' ? `agent-reach abilities ${name}` : `agent-reach agents ${name}`,
  };
}

/** The finding on all names of a catalogue; it makes room for others while it compares. */
export async function checkNames(descriptors: readonly Descriptor[]): Promise<Finding[]> {
  const abilities = descriptors.flatMap(({ capabilities }) => capabilities.map(({ name }) => name));
  const agents = descriptors.map(({ name }) => name);
  const found = [...(await nearNames(abilities, 'ability')), ...(await nearNames(agents, 'agent'))];
  return orFine(
    capped(found, 'names.near'),
    'names.near',
    `${new Set(abilities).size} abilities of ${new Set(agents).size} agents, all told apart`,
  );
}

/** Fewer letters than this say little: in scripts with an alphabet, and in Han, where a letter is a word. */
const SHORT = 20;
const SHORT_HAN = 8;

/** Abilities that can hardly be found by meaning. */
export function checkDescriptions(descriptors: readonly Descriptor[]): Finding[] {
  const id = 'descriptions.clear';
  const found = descriptors.flatMap(({ name: agent, capabilities }) =>
    capabilities.flatMap(({ name, description, examples }): Finding[] => {
      const subject = `${name} of ${agent}`;
      const text = description.trim();
      const command = `agent-reach abilities ${name}`;
      if (text === '')
        return [
          { id, severity: 'warning', subject, measured: 'has no description', why: UNFOUND, fix: DESCRIBE, command },
        ];
      if (isShort(text))
        return [
          {
            id,
            severity: 'warning',
            subject,
            measured: `is described with "${text}" only`,
            why: UNFOUND,
            fix: DESCRIBE,
            command,
          },
        ];
      if (examples.length > 0) return [];
      const why = 'examples in the words of those who ask find an ability better than any description';
      return [
        {
          id,
          severity: 'info',
          subject,
          measured: 'has no examples',
          why,
          fix: 'add five or so `examples`, in each language that is spoken',
          command,
        },
      ];
    }),
  );
  const total = descriptors.reduce((sum, { capabilities }) => sum + capabilities.length, 0);
  const once = [...new Map(found.map((one) => [`${one.subject} ${one.measured}`, one])).values()]; // versions are alike
  return orFine(capped(once, id), id, `${total} abilities have descriptions and examples`);
}

const UNFOUND = 'routing by meaning compares requests with it: others win, or nobody is found';
const DESCRIBE = 'say in a sentence what it does and for what requests, in the words of those who ask';

function isShort(text: string): boolean {
  const han = text.match(/\p{Script=Han}/gu)?.length ?? 0;
  return han >= SHORT_HAN ? false : text.length + han < SHORT;
}

/** What a search by meaning answered to a text of an ability. */
export interface SearchedText {
  ability: string;
  /** The description, or one of the examples. */
  kind: 'description' | 'example';
  text: string;
  /** Best first. */
  hits: readonly { ability: string; score: number }[];
}

/** Another ability that fits a description this well, relative to its own, says nearly the same. */
const SAME_WITHIN = 0.02;

/** Descriptions that fit other abilities as well, and examples that are nearer to others. */
export function checkOverlap(searched: readonly SearchedText[], skipped = 0): Finding[] {
  const id = 'descriptions.overlap';
  const pairs = new Map<string, Finding>();
  for (const { ability, kind, text, hits } of searched) {
    const own = hits.find((hit) => hit.ability === ability)?.score ?? 0;
    const rival = hits.find((hit) => hit.ability !== ability);
    if (!rival || rival.score < own - (kind === 'description' ? SAME_WITHIN : -SAME_WITHIN)) continue;
    const key = [[ability, rival.ability].sort().join(', '), kind].join(' ');
    if (!pairs.has(key))
      pairs.set(key, kind === 'description' ? same(ability, { rival, own }) : astray(ability, { rival, own, text }));
  }
  const more = skipped > 0 ? `; ${skipped} texts were left out for time` : '';
  // Few that are well say nothing of the many that nobody looked at.
  if (pairs.size === 0 && skipped > searched.length)
    return [notChecked(id, `there was time for ${searched.length} of ${searched.length + skipped} texts only`)];
  return orFine(capped([...pairs.values()], id), id, `${searched.length} texts find their own abilities${more}`);
}

interface Rivalry {
  rival: { ability: string; score: number };
  own: number;
}

function same(ability: string, { rival, own }: Rivalry): Finding {
  return {
    id: 'descriptions.overlap',
    severity: 'warning',
    subject: `${ability}, ${rival.ability}`,
    measured: `the description of ${ability} fits ${rival.ability} with ${rival.score.toFixed(2)}, itself with ${own.toFixed(2)}`,
    why: 'requests for one are taken by the other, as chance has it',
    fix: 'say in each what the other does not do, or make them one ability',
    command: `agent-reach abilities --search ${quoted(ability)}`,
  };
}

function astray(ability: string, { rival, own, text }: Rivalry & { text: string }): Finding {
  return {
    id: 'descriptions.overlap',
    severity: 'warning',
    subject: ability,
    measured: `its example ${JSON.stringify(text.slice(0, 60))} is nearer to ${rival.ability} (${rival.score.toFixed(2)}) than to itself (${own.toFixed(2)})`,
    why: 'a request in these words goes to the other agent',
    fix: `move the example to ${rival.ability} if it belongs there, else make the descriptions differ`,
    command: `agent-reach abilities --search ${quoted(text.slice(0, 60))}`,
  };
}

/** For a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** The first few, and a count of the rest. */
export function capped(findings: readonly Finding[], id: string): Finding[] {
  if (findings.length <= MAX_TOLD) return [...findings];
  const rest = findings.length - MAX_TOLD;
  const more = { ...fine(id, `and ${rest} more like these`)[0]!, severity: 'info' as const };
  return [...findings.slice(0, MAX_TOLD), more];
}

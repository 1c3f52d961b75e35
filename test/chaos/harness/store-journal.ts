/**
 * What agents of the SDK write down besides the journal that all agents write: what they asked of their deduplication store, and which
 * question let a handler run. Read back as the story of each business key ({@link KeyStory}).
 */
import { readFileSync } from 'node:fs';
import type { Begin, Complete, Effect, HandlerRun, KeyStory, Told } from '../checker/exactly-once';
import type { Line } from './agent-script';

/** One line. `hash` is the store's name for a business key; outputs are texts of {@link textOf}; `at` is {@link machineMs}. */
export type StoreLine =
  /** A question, written before it is asked; `output`: what is to be recorded. */
  | { e: 'ask'; id: string; what: 'begin'; hash: string; fence: string | null; at: number }
  | { e: 'ask'; id: string; what: 'complete'; hash: string; fence: string; output: string; at: number }
  | {
      e: 'told';
      id: string;
      status: NonNullable<Begin['answer'] | Complete['answer']>;
      output: string | null;
      at: number;
    }
  | RunLine
  | (Extract<Line, { e: 'work' }> & { output: string });

/** A handler begins: the journal's line, with what concerns its key. `begin`: the question that let it run. */
export type RunLine = Extract<Line, { e: 'in' }> & {
  hash: string;
  semantics: KeyStory['semantics'];
  begin: string | null;
};

/** Monotonic, and the same clock for all processes of this machine, ms. */
export function machineMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** An output as text, equal for equal outputs of one level. */
export function textOf(output: Record<string, unknown>): string {
  return JSON.stringify(output, Object.keys(output).sort());
}

/** What is known from elsewhere, by business key. */
export interface Surroundings {
  effects: ReadonlyMap<string, readonly Effect[]>;
  told: ReadonlyMap<string, readonly Told[]>;
}

/** The stories of all keys of which a handler of one of these agents ran, read from their journal. */
export function readStories(file: string, agents: readonly string[], surroundings: Surroundings): KeyStory[] {
  return storiesOf(readFileSync(file, 'utf8'), agents, surroundings);
}

/** {@link readStories} of a journal's text. A line that a kill cut short is left out. */
export function storiesOf(text: string, agents: readonly string[], { effects, told }: Surroundings): KeyStory[] {
  const lines = text.split('\n').flatMap((raw) => parseLine(raw) ?? []);
  const answers = new Map(lines.flatMap((line) => (line.e === 'told' ? [[line.id, line]] : [])));
  const outputs = new Map(lines.flatMap((line) => (line.e === 'work' ? [[line.id, line.output]] : [])));
  const starts = lines.filter((line): line is RunLine => line.e === 'in' && agents.includes(line.agent));
  const asks = lines.filter((line) => line.e === 'ask');
  return [...new Set(starts.map(({ key }) => key))].map((key): KeyStory => {
    const own = starts.filter((line) => line.key === key);
    const hashes = new Set(own.map(({ hash }) => hash));
    const asked = asks.filter(({ hash }) => hashes.has(hash));
    const begins = asked.flatMap((ask) => (ask.what === 'begin' ? beginOf(ask, answers.get(ask.id)) : []));
    return {
      key,
      semantics: own[0]!.semantics,
      begins,
      completes: asked.flatMap((ask) => (ask.what === 'complete' ? completeOf(ask, answers.get(ask.id)) : [])),
      runs: own.map((line) => runOf(line, begins, outputs.get(line.id) ?? null)),
      effects: effects.get(key) ?? [],
      told: told.get(key) ?? [],
    };
  });
}

type Ask<What> = Extract<StoreLine, { e: 'ask'; what: What }>;
type Answer = Extract<StoreLine, { e: 'told' }> | undefined;

function beginOf({ id, fence, at }: Ask<'begin'>, told: Answer): Begin {
  const answer = (told?.status ?? null) as Begin['answer'];
  return { id, fence, asked_ms: at, told_ms: told?.at ?? null, answer, output: told?.output ?? null };
}

function completeOf({ fence, output: offered, at }: Ask<'complete'>, told: Answer): Complete {
  const answer = (told?.status ?? null) as Complete['answer'];
  return { fence, offered, asked_ms: at, told_ms: told?.at ?? null, answer, output: told?.output ?? null };
}

function runOf({ reach_id, attempt, fence, at, begin }: RunLine, begins: Begin[], output: string | null): HandlerRun {
  return { reach_id, attempt, fence, started_ms: at, begin: begins.find(({ id }) => id === begin) ?? null, output };
}

/** Lines of agents that deduplicate nothing, in the same journal, are none of ours. */
function parseLine(raw: string): StoreLine | null {
  try {
    const line = JSON.parse(raw) as StoreLine;
    if (line.e === 'in') return line.hash === undefined ? null : line;
    if (line.e === 'work') return line.output === undefined ? null : line;
    return line.e === 'ask' || line.e === 'told' ? line : null;
  } catch {
    return null;
  }
}

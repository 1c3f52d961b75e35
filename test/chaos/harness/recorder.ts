import type { ReachStatus } from '../../../src/protocol/shapes';
import { DEAD, hasEnded } from '../checker/ends';
import type { AgentLimits, Recording, Run, Sighting } from '../checker/facts';
import { grouped, latestRun } from '../checker/index-of';
import type { Caller, Sent } from './caller';
import { CHANNEL_LIMITS, deadLetters, listedEnds, streamedEnds } from './channels';
import { readRuns } from './histories';
import type { Stage } from './stage';
import { inParallel } from './waiting';

/** What is known when a scenario is over, and what belongs to it. */
export interface Observed {
  sent: readonly Sent[];
  /** Ends that callers polled. */
  ends: readonly Sighting[];
  /** Asks once more where nobody saw the end. */
  caller: Caller;
  agents: readonly string[];
  abilities: readonly string[];
  redrives?: Record<string, number>;
  limits?: AgentLimits[];
}

/** Event streams are read of so many reaches at most: each is a connection. */
const STREAMS = 120;
/** A reach that has ended is told as ended by then, ms. */
const TOLD_WITHIN_MS = 15_000;
const ASKED_AT_ONCE = 16;

/** Reads the four sets from the platform and the journals. */
export async function record(stage: Stage, observed: Observed): Promise<Recording> {
  const { sent, agents, abilities, redrives = {}, limits = [] } = observed;
  const known = [...new Set(sent.flatMap(({ reachId }) => reachId ?? []))];
  const runs = await readRuns(stage.client, abilities, known);
  const last = new Map([...grouped(runs, ({ reach_id }) => reach_id)].map(([id, own]) => [id, latestRun(own)!]));
  const ends = [...observed.ends, ...(await askedAgain(observed, known, last))];
  const url = stage.urls[0]!;
  const expected = new Map(known.map((id): [string, ReachStatus | null] => [id, last.get(id)?.status ?? null]));
  const dead = [...last.values()].filter(({ status }) => DEAD.has(status)).map(({ reach_id }) => reach_id);
  const streamed = spread(known, STREAMS);
  return {
    receipts: sent.flatMap(({ receipt }) => receipt ?? []),
    doubtful_keys: sent.filter(({ doubtful }) => doubtful).map(({ message }) => message.key),
    sightings: [
      ...sent.flatMap(({ sighting }) => sighting ?? []),
      ...ends,
      ...(await listedEnds(url, abilities, { expected, limits: CHANNEL_LIMITS })),
      ...(await streamedEnds(stage.urls, streamed, CHANNEL_LIMITS)),
    ],
    streamed,
    runs,
    journal: stage.agents.journal(agents),
    dead_letters: await deadLetters(url, abilities, { expected: dead, limits: CHANNEL_LIMITS }),
    redrives_asked: redrives,
    limits,
  };
}

/** Whoever gave up waiting looks once more at what the history knows as ended: from then on a silence is one. */
async function askedAgain(
  { ends, caller }: Observed,
  known: readonly string[],
  last: ReadonlyMap<string, Run>,
): Promise<Sighting[]> {
  const seen = new Set(ends.map(({ reach_id }) => reach_id));
  const silent = known.filter((id) => !seen.has(id) && hasEnded(last.get(id)));
  const again = await inParallel(silent, ASKED_AT_ONCE, (id) => caller.ended(id, TOLD_WITHIN_MS));
  return again.flatMap((end) => end ?? []);
}

/** Evenly spread over the whole run, so that what happened during the fault is among them. */
function spread<T>(items: readonly T[], count: number): T[] {
  const step = Math.max(1, items.length / count);
  return Array.from({ length: Math.min(count, items.length) }, (_, index) => items[Math.floor(index * step)]!);
}

import type { ReachStatus } from '../../../src/protocol/shapes';
import type { AgentLimits, DeadLetter, Recording, Sighting } from '../checker/facts';
import type { Sent } from './caller';
import { readRuns } from './histories';
import { http } from './http';
import type { Stage } from './stage';
import { eventually, inParallel } from './waiting';

/** What is known when a scenario is over, and what belongs to it. */
export interface Observed {
  sent: readonly Sent[];
  /** Ends that callers polled. */
  ends: readonly Sighting[];
  agents: readonly string[];
  abilities: readonly string[];
  redrives?: Record<string, number>;
  limits?: AgentLimits[];
}

/** Event streams are read of so many reaches at most: each is a connection. */
const STREAMS = 120;
const LISTED_WITHIN_MS = 10_000;

/** Reads the four sets from the platform and the journals. */
export async function record(stage: Stage, observed: Observed): Promise<Recording> {
  const { sent, ends, agents, abilities, redrives = {}, limits = [] } = observed;
  const known = [...new Set(sent.flatMap(({ reachId }) => reachId ?? []))];
  const runs = await readRuns(stage.client, abilities, known);
  const url = stage.urls[0]!;
  const listed = await listedEnds(url, abilities, new Map(ends.map(({ reach_id, status }) => [reach_id, status])));
  return {
    receipts: sent.flatMap(({ receipt }) => receipt ?? []),
    sightings: [
      ...sent.flatMap(({ sighting }) => sighting ?? []),
      ...ends,
      ...listed,
      ...(await streamedEnds(url, spread(known, STREAMS))),
    ],
    runs,
    journal: stage.agents.journal(agents),
    dead_letters: await deadLetters(url, abilities),
    redrives_asked: redrives,
    limits,
  };
}

/** Evenly spread over the whole run, so that what happened during the fault is among them. */
function spread<T>(items: readonly T[], count: number): T[] {
  const step = Math.max(1, items.length / count);
  return Array.from({ length: Math.min(count, items.length) }, (_, index) => items[Math.floor(index * step)]!);
}

/** The list is eventually consistent: it is read again until it agrees, or until it had the time to. */
async function listedEnds(
  url: string,
  abilities: readonly string[],
  expected: Map<string, ReachStatus>,
): Promise<Sighting[]> {
  let seen: Sighting[] = [];
  const agrees = async () => {
    seen = (await inParallel(abilities, 4, (ability) => listAll(url, `/v1/reaches?ability=${ability}`)))
      .flat()
      .map((row) => listSighting(row as { reach_id: string; status: ReachStatus }));
    const byId = new Map(seen.map(({ reach_id, status }) => [reach_id, status]));
    return [...expected].every(([id, status]) => byId.get(id) === status);
  };
  await eventually(agrees, { limitMs: LISTED_WITHIN_MS, everyMs: 500 });
  return seen.filter(({ reach_id }) => expected.has(reach_id));
}

function listSighting({ reach_id, status }: { reach_id: string; status: ReachStatus }): Sighting {
  return { reach_id, channel: 'list', status, output_id: null, settled: true };
}

/** All pages of a list. @throws Error when one cannot be read */
async function listAll(url: string, path: string): Promise<unknown[]> {
  const items: unknown[] = [];
  let cursor = '';
  do {
    const answer = await http('GET', `${url}${path}&limit=200${cursor && `&cursor=${cursor}`}`);
    if (answer?.status !== 200) throw new Error(`${path} answers ${answer?.status ?? 'nothing'}`);
    items.push(...(answer.body.items as unknown[]));
    cursor = (answer.body.next_cursor as string | undefined) ?? '';
  } while (cursor !== '');
  return items;
}

async function streamedEnds(url: string, ids: readonly string[]): Promise<Sighting[]> {
  const ends = await inParallel(ids, 16, async (reach_id): Promise<Sighting | null> => {
    const answer = await http('GET', `${url}/v1/reaches/${reach_id}/events`, { limitMs: 10_000 });
    const names = [...String(answer?.body ?? '').matchAll(/^event: ?(\w+)$/gm)].map(([, name]) => name as ReachStatus);
    const last = names.at(-1);
    return last ? { reach_id, channel: 'events', status: last, output_id: null, settled: true } : null;
  });
  return ends.flatMap((end) => end ?? []);
}

/** Null when this release has no such list. */
async function deadLetters(url: string, abilities: readonly string[]): Promise<DeadLetter[] | null> {
  const probe = await http('GET', `${url}/v1/dead-letters?limit=1`);
  if (probe?.status !== 200) return null;
  const rows = (await listAll(url, '/v1/dead-letters?')) as (DeadLetter & { envelope?: { ability?: string } })[];
  return rows
    .filter(({ envelope }) => envelope?.ability === undefined || abilities.includes(envelope.ability))
    .map(({ reach_id, state }) => ({ reach_id, state }));
}

/**
 * What the channels tell once everything has ended. What says nothing is not in the answer, which is for the checks to judge:
 * nobody here decides that a silence is all right.
 */
import type { ReachStatus } from '../../../src/protocol/shapes';
import type { DeadLetter, Sighting } from '../checker/facts';
import { http, type HttpAnswer } from './http';
import { eventually, inParallel } from './waiting';

/** How patiently channels are read; lists are eventually consistent, and a machine under load is slow. */
export interface ChannelLimits {
  /** Until a list agrees, ms. */
  listedMs: number;
  /** One look at a stream, which must end by itself, ms. */
  streamMs: number;
}

/** What the platform says is about a second, with room for a busy machine. */
export const CHANNEL_LIMITS: ChannelLimits = { listedMs: 30_000, streamMs: 15_000 };
/** A look that was broken off, or took too long, is repeated; what hangs twice is silent. */
const LOOKS = 2;
const STREAMS_AT_ONCE = 16;

/**
 * The list of all reaches to these abilities, read again until it agrees with what is expected of these (null: that they are in
 * it at all), or had its time.
 */
export async function listedEnds(
  url: string,
  abilities: readonly string[],
  { expected, limits }: { expected: ReadonlyMap<string, ReachStatus | null>; limits: ChannelLimits },
): Promise<Sighting[]> {
  let seen: Sighting[] = [];
  const agrees = async () => {
    const pages = await inParallel(abilities, 4, (ability) => listAll<ListRow>(url, `/v1/reaches?ability=${ability}`));
    seen = pages.flat().map(listSighting);
    const byId = new Map(seen.map(({ reach_id, status }) => [reach_id, status]));
    return [...expected].every(([id, status]) => byId.has(id) && (status === null || byId.get(id) === status));
  };
  await eventually(agrees, { limitMs: limits.listedMs, everyMs: 500 });
  return seen.filter(({ reach_id }) => expected.has(reach_id));
}

type ListRow = Pick<Sighting, 'reach_id' | 'status'>;

function listSighting({ reach_id, status }: ListRow): Sighting {
  return { reach_id, channel: 'list', status, output_id: null, degraded: null, settled: true };
}

/** The last event of each stream that came to its end. */
export async function streamedEnds(
  urls: readonly string[],
  ids: readonly string[],
  limits: ChannelLimits,
): Promise<Sighting[]> {
  const ends = await inParallel(ids, STREAMS_AT_ONCE, async (id) => {
    // Each stream at another gateway than the one before, and at the next one when it is looked at again.
    const first = ids.indexOf(id);
    for (let look = 0; look < LOOKS; look += 1) {
      const url = urls[(first + look) % urls.length]!;
      const answer = await http('GET', `${url}/v1/reaches/${id}/events`, { limitMs: limits.streamMs });
      const end = answer && endOf(id, answer);
      if (end) return end;
    }
    return null;
  });
  return ends.flatMap((end) => end ?? []);
}

function endOf(reach_id: string, { status, body }: HttpAnswer): Sighting | null {
  if (status !== 200) return null;
  const last = String(body).trim().split(/\n\n+/).at(-1) ?? '';
  const [, name] = /^event: ?(\w+)$/m.exec(last) ?? [];
  if (name === undefined) return null;
  const data = dataOf(last);
  return {
    reach_id,
    channel: 'events',
    status: name as ReachStatus,
    output_id: data.output?.output_id ?? null,
    degraded: data.degraded ?? null,
    settled: true,
  };
}

function dataOf(event: string): { output?: { output_id?: string }; degraded?: boolean } {
  const lines = [...event.matchAll(/^data: ?(.*)$/gm)].map(([, text]) => text);
  try {
    return (JSON.parse(lines.join('\n')) ?? {}) as object;
  } catch {
    return {};
  }
}

/** Open and discarded dead letters of these abilities, read again until those that are expected are among them. */
export async function deadLetters(
  url: string,
  abilities: readonly string[],
  { expected, limits }: { expected: readonly string[]; limits: ChannelLimits },
): Promise<DeadLetter[]> {
  let seen: DeadLetter[] = [];
  const agrees = async () => {
    const states = await inParallel(['open', 'discarded'] as const, 2, async (state) => {
      const rows = await listAll<DeadLetter & { ability: string }>(url, `/v1/dead-letters?state=${state}`);
      return rows.filter(({ ability }) => abilities.includes(ability));
    });
    seen = states.flat().map(({ reach_id, state }) => ({ reach_id, state }));
    const ids = new Set(seen.map(({ reach_id }) => reach_id));
    return expected.every((id) => ids.has(id));
  };
  await eventually(agrees, { limitMs: limits.listedMs, everyMs: 500 });
  return seen;
}

/** All pages of a list. @throws Error when one cannot be read */
async function listAll<Row>(url: string, path: string): Promise<Row[]> {
  const items: Row[] = [];
  let cursor = '';
  do {
    const answer = await http('GET', `${url}${path}&limit=200${cursor && `&cursor=${cursor}`}`);
    if (answer?.status !== 200) throw new Error(`${path} answers ${answer?.status ?? 'nothing'}`);
    items.push(...(answer.body.items as Row[]));
    cursor = (answer.body.next_cursor as string | undefined) ?? '';
  } while (cursor !== '');
  return items;
}

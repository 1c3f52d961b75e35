/**
 * A segment of the decision log: gzip members one behind the other, the first of them a header of one line that says what
 * is in it, each of the others decisions, one a line. It unpacks with any gzip, and whoever looks for something reads no
 * more than the beginning of a segment that has none of it.
 */
import { constants, gunzip, gunzipSync, gzip } from 'node:zlib';
import { promisify } from 'node:util';
import type { DecisionFilter } from '../protocol/decision-log';
import type { LoggedDecision } from '../protocol/logged-decision';

const pack = promisify(gzip);
const unpack = promisify(gunzip);

/** So many distinct names stand in a header; of more it says nothing, and the segment must be read. */
const MAX_NAMES = 256;
/** Bytes in which a header always is, compressed. */
export const HEADER_BYTES = 32_768;

/** What a segment says of itself. */
export interface SegmentHeader {
  v: 1;
  made_by: string;
  /** Times of the oldest and the newest decision in it. */
  from: string;
  to: string;
  count: number;
  /** Who was chosen, or named by a request that was refused; null: too many to say. */
  agents: string[] | null;
  abilities: string[] | null;
}

/** What a header says, gathered from decisions; it never changes. */
export class SegmentSummary {
  constructor(
    private readonly madeBy: string,
    private readonly times: { from: string; to: string; count: number } = { from: '', to: '', count: 0 },
    private readonly agents: ReadonlySet<string> = new Set(),
    private readonly abilities: ReadonlySet<string> = new Set(),
  ) {}

  /** The same with more decisions. */
  with(decisions: readonly LoggedDecision[]): SegmentSummary {
    const times = { ...this.times };
    const agents = new Set(this.agents);
    const abilities = new Set(this.abilities);
    for (const decision of decisions) {
      const { at } = decision;
      if (times.count === 0 || at < times.from) times.from = at;
      if (at > times.to) times.to = at;
      times.count += 1;
      const agent = agentOf(decision);
      if (agent !== null && agents.size <= MAX_NAMES) agents.add(agent);
      for (const ability of abilitiesOf(decision)) if (abilities.size <= MAX_NAMES) abilities.add(ability);
    }
    return new SegmentSummary(this.madeBy, times, agents, abilities);
  }

  header(): SegmentHeader {
    const names = (set: ReadonlySet<string>) => (set.size > MAX_NAMES ? null : [...set]);
    return {
      v: 1,
      made_by: this.madeBy,
      ...this.times,
      agents: names(this.agents),
      abilities: names(this.abilities),
    };
  }
}

/** The agent that a decision is about; null where a refused request named none. */
export function agentOf({ chosen, inputs }: LoggedDecision): string | null {
  return chosen?.agent_name ?? inputs?.request.target_agent?.split('#')[0] ?? null;
}

/** The ability asked for, and the one found where that was left open. */
export function abilitiesOf({ ability, chosen }: LoggedDecision): string[] {
  return chosen && chosen.ability !== ability ? [ability, chosen.ability] : [ability];
}

/** A part of a segment: a header, or some decisions as JSON lines. */
export function packLines(lines: readonly string[]): Promise<Buffer> {
  return pack(`${lines.join('\n')}\n`, { level: 4 });
}

/** Reads the header out of the first bytes of a segment; null when that is no segment. */
export function headerOf(start: Uint8Array): SegmentHeader | null {
  try {
    const text = gunzipSync(start, { finishFlush: constants.Z_SYNC_FLUSH }).toString('utf8');
    const header = JSON.parse(text.slice(0, text.indexOf('\n'))) as SegmentHeader;
    return header.v === 1 ? header : null;
  } catch {
    return null;
  }
}

/** The decisions of a segment as lines, without its header. */
export async function linesOf(segment: Uint8Array): Promise<string[]> {
  const lines = (await unpack(segment)).toString('utf8').split('\n');
  return lines.slice(1).filter((line) => line !== '');
}

/** Whether a segment may hold anything that fits. */
export function mayHold({ from, to, agents, abilities }: SegmentHeader, filter: DecisionFilter): boolean {
  const { agent, ability, since, until } = filter;
  if (since !== undefined && to < instant(since)) return false;
  if (until !== undefined && from >= instant(until)) return false;
  if (agent !== undefined && agents !== null && !agents.includes(agent.split('#')[0]!)) return false;
  return ability === undefined || abilities === null || abilities.includes(ability);
}

/** Times are compared as text, so all must be in UTC. */
export function instant(iso: string): string {
  return new Date(iso).toISOString();
}

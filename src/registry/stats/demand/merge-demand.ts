import { DurationCounts, profileOf } from './duration-counts';
import { EARLIER_BLOCKS, RECENT_SLOTS, SLOT_SEC, type BlockDigest, type SlotDigest } from './demand-windows';
import type { DemandId } from './demand-codec';
import type { ToldDemand } from './remote-demand';

const WINDOW_SEC = RECENT_SLOTS * SLOT_SEC;
const BLOCK_SEC = WINDOW_SEC;
/** Slots of the short rate: the last whole minute and what there is of the current slot. */
const SHORT_SLOTS = 6;

/** Measured services: how many, their moments, and their values with counts, ascending. */
export type MeasuredServices = ReturnType<typeof profileOf>;

/** What was asked of one ability of a version, over all processes. Rates are per second. */
export interface MeasuredDemand extends DemandId {
  arrivalsPerSec1m: number;
  arrivalsPerSec: number;
  callsPerSec: number;
  windowSec: number;
  arrivals: number;
  /** Arrivals of the whole slots of the window, oldest first. */
  slots: number[];
  service: MeasuredServices;
  /** The hour before the window; null while nobody has watched for so long. */
  earlier: {
    seconds: number;
    arrivals: number;
    calls: number;
    peakPerSec: number;
    service: MeasuredServices;
  } | null;
}

/** Adds up what processes told of an agent. @param sinceSec since when anybody has counted, Unix seconds */
export function mergeDemand(
  told: readonly Pick<ToldDemand, 'now' | 'earlier'>[],
  { nowSec, sinceSec }: { nowSec: number; sinceSec: number },
): MeasuredDemand[] {
  const ids = new Map<string, DemandId>();
  for (const { now, earlier } of told)
    for (const { version, ability } of [...(now?.series ?? []), ...(earlier?.series ?? [])])
      ids.set(`${version.length}:${version}${ability}`, { version, ability });
  return [...ids.values()].map((id) => mergeOne(id, told, { nowSec, sinceSec }));
}

function mergeOne(
  id: DemandId,
  told: readonly Pick<ToldDemand, 'now' | 'earlier'>[],
  at: { nowSec: number; sinceSec: number },
): MeasuredDemand {
  const isIt = ({ version, ability }: DemandId) => version === id.version && ability === id.ability;
  const recent = told.flatMap(({ now }) => now?.series.filter(isIt) ?? []);
  const blocks = told.flatMap(({ earlier }) => earlier?.series.filter(isIt).flatMap((one) => one.blocks) ?? []);
  const service = new DurationCounts();
  const oldest = Math.floor(at.nowSec / SLOT_SEC) - RECENT_SLOTS;
  // Of a process that is gone nobody ages the services: they count as long as its last slot does.
  for (const one of recent) if ((one.slots.at(-1)?.[0] ?? 0) > oldest) service.merge(one.service);
  return {
    ...id,
    ...rates(
      recent.flatMap(({ slots }) => slots),
      at,
    ),
    service: profileOf(service.digest()),
    earlier: earlierOf(blocks, at),
  };
}

function rates(slots: readonly SlotDigest[], { nowSec, sinceSec }: { nowSec: number; sinceSec: number }) {
  const current = Math.floor(nowSec / SLOT_SEC);
  const watchedSec = Math.max(1, nowSec - sinceSec);
  const elapsedSec = nowSec - current * SLOT_SEC;
  const countOf = (depth: number) => {
    const seconds = Math.min(watchedSec, depth * SLOT_SEC + elapsedSec);
    const within = slots.filter(([slot]) => slot >= current - depth && slot <= current);
    return { seconds, arrivals: sum(within.map(([, n]) => n)), calls: sum(within.map(([, , n]) => n)) };
  };
  const long = countOf(RECENT_SLOTS - 1);
  const short = countOf(SHORT_SLOTS);
  return {
    arrivalsPerSec1m: short.arrivals / short.seconds,
    arrivalsPerSec: long.arrivals / long.seconds,
    callsPerSec: long.calls / long.seconds,
    windowSec: long.seconds,
    arrivals: long.arrivals,
    slots: wholeSlots(slots, { current, sinceSec }),
  };
}

function wholeSlots(
  slots: readonly SlotDigest[],
  { current, sinceSec }: { current: number; sinceSec: number },
): number[] {
  const first = Math.max(current - RECENT_SLOTS + 1, Math.ceil(sinceSec / SLOT_SEC));
  const counts = Array.from({ length: Math.max(0, current - first) }, () => 0);
  for (const [slot, arrivals] of slots) if (slot >= first && slot < current) counts[slot - first]! += arrivals;
  return counts;
}

/** Whole blocks, the last of which still fills: what they have counted ended when the window began. */
function earlierOf(
  blocks: readonly BlockDigest[],
  { nowSec, sinceSec }: { nowSec: number; sinceSec: number },
): MeasuredDemand['earlier'] {
  const edgeSec = nowSec - WINDOW_SEC;
  const first = Math.floor(edgeSec / BLOCK_SEC) - EARLIER_BLOCKS;
  const seconds = edgeSec - Math.max(sinceSec, first * BLOCK_SEC);
  if (seconds < BLOCK_SEC) return null;
  const kept = blocks.filter(({ block }) => block >= first);
  const service = new DurationCounts();
  const byBlock = new Map<number, { arrivals: number; calls: number }>();
  for (const { block, arrivals, calls, service: measured } of kept) {
    service.merge(measured);
    const known = byBlock.get(block) ?? { arrivals: 0, calls: 0 };
    byBlock.set(block, { arrivals: known.arrivals + arrivals, calls: known.calls + calls });
  }
  const each = [...byBlock.values()];
  return {
    seconds,
    arrivals: sum(each.map(({ arrivals }) => arrivals)),
    calls: sum(each.map(({ calls }) => calls)),
    peakPerSec: Math.max(0, ...each.map(({ arrivals, calls }) => Math.max(arrivals, calls))) / BLOCK_SEC,
    service: profileOf(service.digest()),
  };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

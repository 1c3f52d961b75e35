/** I1, on every channel: a reach that is over is told as over wherever somebody asked, and as what it was. */
import { hasEnded } from './ends';
import type { Channel, Sighting, Violation } from './facts';
import { grouped, type Index } from './index-of';

/** Channels of which every receipt's reach is asked once all is over; streams are read of some. */
const ASKED: readonly Channel[] = ['get', 'list'];

/** Channels that showed no end of a reach that is over: still `running`, a stream without an end, a list that forgot it. */
export function silentChannels({ recording, lastRun }: Index): Violation[] {
  const { receipts, sightings, streamed } = recording;
  const told = new Set(sightings.filter(({ settled }) => settled).map(nameOf));
  const asked = [
    ...[...new Set(receipts.map(({ reach_id }) => reach_id))].flatMap((reach_id) =>
      ASKED.map((channel) => ({ reach_id, channel })),
    ),
    ...streamed.map((reach_id) => ({ reach_id, channel: 'events' as const })),
  ];
  return asked.flatMap((each): Violation[] => {
    const run = lastRun(each.reach_id);
    // What has no end cannot be told; that is broken in another way.
    if (!hasEnded(run) || told.has(nameOf(each))) return [];
    const message = `${each.channel} shows no end of it; the history says ${run!.status}`;
    return [{ rule: 'channel_silent', reach_id: each.reach_id, message }];
  });
}

function nameOf({ channel, reach_id }: Pick<Sighting, 'channel' | 'reach_id'>): string {
  return `${channel} ${reach_id}`;
}

/** Results of a fallback that a channel shows as the agent's own, and the other way round (R30). */
export function unmarkedFallbacks({ recording, runsOf }: Index): Violation[] {
  const shown = recording.sightings.filter(({ status, degraded }) => status === 'completed' && degraded !== null);
  return [...grouped(shown, ({ reach_id }) => reach_id)].flatMap(([reach_id, sightings]): Violation[] => {
    const completed = runsOf(reach_id).filter(({ status }) => status === 'completed');
    return sightings.flatMap(({ channel, degraded }): Violation[] => {
      if (completed.length === 0 || completed.some((run) => run.degraded === degraded)) return [];
      const message = `${channel} says degraded ${degraded}, the history says ${!degraded}`;
      return [{ rule: 'degraded_unmarked', reach_id, message }];
    });
  });
}

/** The lifecycle of one reach, event by event, as it happens. */
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { REACH_ENDS, type ReachEventName } from '../protocol/reach-event';
import { ReachError } from '../protocol/reach-error';
import { pathSegment } from './gateway-api';
import { pauseMs } from './retry';
import { sleep } from './time';
import type { Transport } from './transport';

/** One lifecycle event. */
export interface ReachLifecycleEvent {
  /** Opaque; {@link WatchOptions.after} goes on behind it. */
  id: string;
  event: ReachEventName;
  /** `seq` and `at` (ISO 8601) of every event, and what belongs to its kind. */
  data: { seq: number; at: string } & Record<string, unknown>;
}

/** How a reach is watched. */
export interface WatchOptions {
  /** The id of an event: only what came after it is told. */
  after?: string;
  signal?: AbortSignal;
}

/** Connections lost in a row after which watching gives up. */
const MAX_LOST = 10;

/**
 * Tells what happens to a reach until its end. A lost connection is made again, and goes on behind the last event.
 * @throws ReachError `not_found`; `engine_unavailable` when the gateway stays away; the signal's reason when aborted
 */
export async function* watchReach(
  transport: Transport,
  reachId: string,
  { after = '', signal, random = Math.random }: WatchOptions & { random?: () => number } = {},
): AsyncGenerator<ReachLifecycleEvent> {
  let last = after;
  for (let lost = 1; ; lost += 1) {
    try {
      for await (const event of connected(transport, reachId, { last, signal })) {
        [last, lost] = [event.id, 1];
        yield event;
        if (REACH_ENDS.has(event.event)) return;
      }
    } catch (caught) {
      signal?.throwIfAborted();
      const error = ReachError.from(caught);
      if (error.code !== 'engine_unavailable' || lost >= MAX_LOST) throw error;
    }
    // A gateway that shuts down ends its streams; another goes on with them.
    await sleep(pauseMs(lost, undefined, random), signal);
  }
}

async function* connected(
  transport: Transport,
  reachId: string,
  { last, signal }: { last: string; signal: AbortSignal | undefined },
): AsyncGenerator<ReachLifecycleEvent> {
  const headers = { accept: 'text/event-stream', ...(last !== '' && { 'last-event-id': last }) };
  const stream = await transport.open({ path: `/v1/reaches/${pathSegment(reachId)}/events`, headers, signal });
  const come: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (message) => come.push(message) });
  for await (const piece of stream) {
    parser.feed(piece);
    for (const { id = '', event, data } of come.splice(0))
      if (event) yield { id, event: event as ReachEventName, data: JSON.parse(data) as ReachLifecycleEvent['data'] };
  }
}

import type { Client } from '@temporalio/client';
import { ReachError } from '../protocol/reach-error';
import { eventsOf, type ReachEvent } from '../telemetry/events-from-history';
import type { ReachReader } from './reach-reader';
import { fromTemporal, isWaitOver } from './temporal-errors';

/** One poll of the history; shorter than the server's own limit, so that a reader who left is noticed. */
const POLL_MS = 15_000;

/** Follows the history of a reach and tells its lifecycle events as they are written. */
export class EventFeed {
  constructor(private readonly options: { client: Client; namespace: string; reader: ReachReader }) {}

  /**
   * Events after `lastEventId` (an event's id or its `seq`, empty for all), the terminal one last. Ends
   * early when `signal` is aborted. What may be refused is refused before the first of them.
   *
   * @throws ReachError `not_found`, `invalid_request` for an id that no event ever had, `engine_unavailable`
   */
  async follow(id: string, lastEventId: string, signal: AbortSignal): Promise<AsyncGenerator<ReachEvent>> {
    const after = parseEventId(lastEventId);
    const { runId } = await this.options.reader.describe(id);
    return this.told({ workflowId: id, runId }, after, signal);
  }

  private async *told(
    execution: { workflowId: string; runId: string },
    after: Position,
    signal: AbortSignal,
  ): AsyncGenerator<ReachEvent> {
    let nextPageToken: Uint8Array = new Uint8Array();
    while (!signal.aborted) {
      const page = await this.poll(execution, nextPageToken);
      if (!page) continue;
      nextPageToken = page.nextPageToken ?? new Uint8Array();
      for (const event of (page.history?.events ?? []).flatMap(eventsOf)) {
        if (signal.aborted) return;
        if (isAfter(event, after) || event.terminal) yield event;
        if (event.terminal) return;
      }
      if (nextPageToken.length === 0) return;
    }
  }

  private async poll(execution: { workflowId: string; runId: string }, nextPageToken: Uint8Array) {
    const { client, namespace } = this.options;
    const until = new Date();
    until.setMilliseconds(until.getMilliseconds() + POLL_MS);
    try {
      return await client.connection.withDeadline(until, () =>
        client.workflowService.getWorkflowExecutionHistory({
          namespace,
          execution,
          nextPageToken,
          waitNewEvent: true,
          skipArchival: true,
        }),
      );
    } catch (caught) {
      if (isWaitOver(caught)) return null;
      throw fromTemporal(caught, 'follow the reach');
    }
  }
}

interface Position {
  seq: number;
  index: number;
}

function parseEventId(text: string): Position {
  if (text === '') return { seq: 0, index: -1 };
  const [, seq, index] = /^(\d{1,9})(?:\.(\d{1,4}))?$/.exec(text) ?? [];
  if (seq === undefined) {
    throw new ReachError(
      'invalid_request',
      'Last-Event-ID is not the id of an event; leave it out to read from the start',
    );
  }
  // The `seq` of an event alone means: after everything with that number.
  return { seq: Number(seq), index: index === undefined ? Infinity : Number(index) };
}

function isAfter({ id }: ReachEvent, after: Position): boolean {
  const { seq, index } = parseEventId(id);
  return seq > after.seq || (seq === after.seq && index > after.index);
}

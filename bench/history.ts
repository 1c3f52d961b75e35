import type { Client } from '@temporalio/client';
import { temporal } from '@temporalio/proto';

/** What one call leaves in the server's history. */
export interface HistoryFigure {
  events: number;
  /** Names as the Temporal Web UI shows them, in order. */
  names: string[];
}

const { EventType } = temporal.api.enums.v1;

/** Counts the events of a workflow that has ended. */
export async function countEvents(client: Client, workflowId: string): Promise<HistoryFigure> {
  const { events } = await client.workflow.getHandle(workflowId).fetchHistory();
  const names = (events ?? []).map(({ eventType }) => nameOf(eventType ?? 0));
  return { events: names.length, names };
}

function nameOf(type: temporal.api.enums.v1.EventType): string {
  const words = EventType[type].replace('EVENT_TYPE_', '').toLowerCase().split('_');
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}

import { Client, Connection } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { temporalAddress } from '../support/temporal';

/** How large the events of a reach's history are, as the server stores them, bytes. */
export async function reachHistory(reachId: string): Promise<{ events: number; largest: number; total: number }> {
  const connection = await Connection.connect({ address: temporalAddress() });
  try {
    const { events } = await new Client({ connection }).workflow.getHandle(reachId).fetchHistory();
    const sizes = (events ?? []).map(
      (event) =>
        temporal.api.history.v1.HistoryEvent.encode(event as temporal.api.history.v1.IHistoryEvent).finish().byteLength,
    );
    return { events: sizes.length, largest: Math.max(...sizes), total: sizes.reduce((sum, size) => sum + size, 0) };
  } finally {
    await connection.close();
  }
}

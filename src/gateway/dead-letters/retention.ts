import type { Client } from '@temporalio/client';
import type { Clock } from '../../registry';
import { bounded, fromTemporal } from '../temporal-errors';

/** An operator may change the retention; it is asked for again after this long, ms. */
const FRESH_MS = 600_000;
/** Before something is written that has to outlive the runs, it is asked for after this long, ms. */
export const FRESH_FOR_WRITING_MS = 5_000;

/** How long the namespace keeps finished runs, which is how long dead letters live. */
export class NamespaceRetention {
  private known: { ms: number; askedMs: number } | null = null;

  constructor(private readonly options: { client: Client; namespace: string; clock: Clock }) {}

  /** Milliseconds. @param freshMs what was read longer ago is read again. @throws ReachError `engine_unavailable` */
  async ms(freshMs = FRESH_MS): Promise<number> {
    const { client, namespace, clock } = this.options;
    if (this.known && clock.monotonicMs() - this.known.askedMs < freshMs) return this.known.ms;
    const askedMs = clock.monotonicMs();
    try {
      const answer = await bounded(client, () => client.workflowService.describeNamespace({ namespace }));
      const ttl = answer.config?.workflowExecutionRetentionTtl;
      this.known = { ms: Number(ttl?.seconds ?? 0) * 1_000 + (ttl?.nanos ?? 0) / 1e6, askedMs };
      return this.known.ms;
    } catch (caught) {
      throw fromTemporal(caught, 'read the retention of the namespace');
    }
  }
}

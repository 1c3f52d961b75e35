import type { Client } from '@temporalio/client';
import type { Trace } from '../protocol/shapes';
import type { ReachTree } from '../registry';
import { withFamily } from '../telemetry/trace-family';
import { hopsFromHistory } from '../telemetry/trace-from-history';
import { childrenOf } from './family';
import type { ReachReader } from './reach-reader';
import { statusOf } from './reach-view';
import { decodeSearchAttributes } from './search-attributes';
import { bounded, fromTemporal } from './temporal-errors';
import type { ReachMemo } from '../../workflows/messages';

/** Reads the trace of a reach out of its Temporal history (R33). */
export class TraceReader {
  constructor(
    private readonly options: {
      client: Client;
      namespace: string;
      reader: ReachReader;
      tree: Pick<ReachTree, 'children' | 'lateResults'>;
    },
  ) {}

  /** @throws ReachError `not_found` */
  async trace(id: string): Promise<Trace> {
    const description = await this.options.reader.describe(id);
    const { client } = this.options;
    const history = await bounded(client, () => client.workflow.getHandle(id, description.runId).fetchHistory()).catch(
      (caught: unknown) => {
        throw fromTemporal(caught, 'read the history');
      },
    );
    const [children, late] = await Promise.all([
      childrenOf(this.options, this.options.tree, id).catch(() => []),
      // What is only an addition is left out while etcd is away.
      this.options.tree.lateResults(id).catch(() => []),
    ]);
    const { ReachStatus } = decodeSearchAttributes(description.raw.workflowExecutionInfo?.searchAttributes);
    const end = description.closeTime ?? new Date();
    return {
      trace_id: (description.memo as ReachMemo).trace_id,
      reach_id: id,
      status: statusOf(description.status.name, ReachStatus),
      started_at: description.startTime.toISOString(),
      duration_ms: Math.max(0, end.getTime() - description.startTime.getTime()),
      hops: withFamily(hopsFromHistory(history.events ?? []), children, late),
    };
  }
}

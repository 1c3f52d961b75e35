import type { Client } from '@temporalio/client';
import type { RegistryView } from '../registry';

/** What `/readyz` says: whether reaches can be accepted, and which part is missing. */
export interface ReadinessReport {
  ready: boolean;
  draining: boolean;
  temporal: 'ok' | 'unreachable';
  registry: { connected: boolean; last_sync_age_ms: number };
  /** `warming` and `lexical`: routing by meaning compares words for now, or for good. */
  vectors: 'ready' | 'warming' | 'lexical';
}

const PROBE_TIMEOUT_MS = 2_000;

/** Asks the engines. A registry that is cut off keeps serving its last view and says so; without Temporal nothing is accepted. */
export class Readiness {
  #draining = false;

  constructor(
    private readonly options: {
      client: Client;
      namespace: string;
      view: RegistryView;
      vectors: () => ReadinessReport['vectors'];
    },
  ) {}

  /** From now on the process takes no new work; load balancers see it in `/readyz`. */
  drain(): void {
    this.#draining = true;
  }

  get draining(): boolean {
    return this.#draining;
  }

  async report(): Promise<ReadinessReport> {
    const { connected, lastSyncAgeMs } = this.options.view.staleness();
    const temporal = await this.temporal();
    return {
      ready: temporal === 'ok' && connected && !this.#draining,
      draining: this.#draining,
      temporal,
      registry: { connected, last_sync_age_ms: Math.round(lastSyncAgeMs) },
      vectors: this.options.vectors(),
    };
  }

  private async temporal(): Promise<ReadinessReport['temporal']> {
    const { client, namespace } = this.options;
    const until = new Date();
    until.setMilliseconds(until.getMilliseconds() + PROBE_TIMEOUT_MS);
    try {
      await client.connection.withDeadline(until, () => client.workflowService.describeNamespace({ namespace }));
      return 'ok';
    } catch {
      return 'unreachable';
    }
  }
}

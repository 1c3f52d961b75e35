import type { Client } from '@temporalio/client';
import { routedTarget } from '../protocol/routed-target';
import type { World } from '../protocol/world';
import { bounded } from './temporal-errors';

/** How often a batch of queues is looked at, ms. */
const LOOK_INTERVAL_MS = 2_000;
/** A look that takes longer tells nothing, ms. */
const LOOK_TIMEOUT_MS = 1_500;
/** Queues in one look; with more of them each is looked at less often. */
const BATCH = 20;
/** TASK_QUEUE_TYPE_ACTIVITY of the Temporal API. */
const ACTIVITY_QUEUE = 2;

export interface PullQueuesOptions {
  client: Client;
  namespace: string;
  world: () => World;
}

/** How many calls wait in the task queues of agents that pull, as Temporal says. No bulkhead of ours sees them wait. */
export class PullQueues {
  private readonly depths = new Map<string, number>();
  private next = 0;
  private timer: NodeJS.Timeout | null = null;

  constructor(private readonly options: PullQueuesOptions) {}

  start(): void {
    this.timer ??= setInterval(() => void this.look(), LOOK_INTERVAL_MS).unref();
  }

  stop(): void {
    if (this.timer) clearInterval(this.timer);
    this.timer = null;
  }

  /** Calls that wait for an agent's version; 0 for agents that are called, and as long as nobody has looked. */
  depth(agentName: string, agentVersion: string): number {
    return this.depths.get(`${agentName}#${agentVersion}`) ?? 0;
  }

  private async look(): Promise<void> {
    const queues = pulling(this.options.world());
    for (const name of this.depths.keys()) if (!queues.has(name)) this.depths.delete(name);
    const all = [...queues];
    if (this.next >= all.length) this.next = 0;
    const batch = all.slice(this.next, this.next + BATCH);
    this.next += BATCH;
    await Promise.all(batch.map(([agent, taskQueue]) => this.lookAt(agent, taskQueue)));
  }

  private async lookAt(agent: string, taskQueue: string): Promise<void> {
    const { client, namespace } = this.options;
    const request = { namespace, taskQueue: { name: taskQueue }, taskQueueType: ACTIVITY_QUEUE, reportStats: true };
    try {
      const ask = () => client.workflowService.describeTaskQueue(request);
      const { stats } = await bounded(client, ask, LOOK_TIMEOUT_MS);
      this.depths.set(agent, Number(stats?.approximateBacklogCount ?? 0));
    } catch {
      // The next look tries again; until then the last one stands.
    }
  }
}

/** Task queues of the agents that pull, by `name#version`. */
function pulling({ agents }: World): Map<string, string> {
  const queues = new Map<string, string>();
  for (const { name, version, descriptor, instances } of agents) {
    if (descriptor.endpoint?.protocol !== 'worker' || instances.length === 0) continue;
    const { task_queue: queue } = routedTarget(descriptor, '', 0);
    if (queue !== null) queues.set(`${name}#${version}`, queue);
  }
  return queues;
}

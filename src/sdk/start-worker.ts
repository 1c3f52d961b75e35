import type { Descriptor } from '../protocol/descriptor';
import { agentTaskQueue } from '../protocol/worker-wire';
import type { MovableWorker } from './movable-worker';
import type { WorkerAddress } from './registration-api';
import type { WorkerHostParts } from './worker-host';

/** What an agent's worker is made of. `at`: where its registration says that work waits, if it does. */
export interface AgentWorkerParts extends Omit<WorkerHostParts, 'at'> {
  descriptor: Descriptor;
  at: WorkerAddress | undefined;
}

/** Loaded only when needed: agents that speak HTTP start without Temporal's native library. */
export async function startWorker({ descriptor, at, ...parts }: AgentWorkerParts): Promise<MovableWorker> {
  const { MovableWorker: Host } = await import('./movable-worker');
  const { name, version, endpoint } = descriptor;
  const { address = '127.0.0.1:7233', namespace = 'default' } = parts.options;
  const task_queue = agentTaskQueue({ name, version, taskQueue: endpoint?.task_queue });
  return Host.start({ ...parts, at: at ?? { address, namespace, task_queue } });
}

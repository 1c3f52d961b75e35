import { offeredPerSec } from '../policy/scaling';
import type { AgentDemand } from '../registry';

/** Of those who wait for an agent, how many wait for this version: they wait in one queue, and each has of it what it has of the load. */
export function queueShare({ queueDepth, series }: AgentDemand, version: string): number {
  const total = series.reduce((sum, one) => sum + offeredPerSec(one), 0);
  const own = series.filter((one) => one.version === version).reduce((sum, one) => sum + offeredPerSec(one), 0);
  return total > 0 ? Math.round((queueDepth * own) / total) : queueDepth;
}

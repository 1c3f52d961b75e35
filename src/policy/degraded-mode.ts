/** Degraded mode (R24): when too few agents are healthy, waiting for health to recover only makes it worse. */
import type { DegradedMode } from '../protocol/world';

/** The healthy share must exceed the threshold by this much before the mode ends, or it would flutter around it. */
const HYSTERESIS = 0.05;

export interface Population {
  /** Agents, by name, with at least one instance that is ready or busy. */
  healthy: number;
  /** Agents registered, by name. */
  total: number;
}

/**
 * Whether the platform runs degraded now. Begins below the threshold, ends above threshold + 0.05 (or with all
 * healthy). Fewer than ⌈1/threshold⌉ agents say nothing: there a single one that is away would make the difference.
 *
 * @param threshold `registry.health_threshold`, 0–1; 0 switches the mode off
 * @param previous what this answered last; kept as it is while nothing changes
 */
export function degradedMode(
  { healthy, total }: Population,
  threshold: number,
  previous: DegradedMode | null,
  now: () => Date,
): DegradedMode | null {
  if (!(threshold > 0) || total < Math.ceil(1 / threshold)) return null;
  const healthyShare = healthy / total;
  const isLow = previous === null ? healthyShare < threshold : !hasRecovered(healthyShare, threshold);
  if (!isLow) return null;
  if (previous?.healthyShare === healthyShare && previous.threshold === threshold) return previous;
  return { healthyShare, threshold, since: previous?.since ?? now().toISOString() };
}

function hasRecovered(healthyShare: number, threshold: number): boolean {
  return healthyShare >= 1 || healthyShare > threshold + HYSTERESIS;
}

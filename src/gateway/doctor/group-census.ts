import { performance } from 'node:perf_hooks';

import type { Decision } from '../../protocol/shapes';

/** Callers choose groups: so many are told apart. */
const MAX_GROUPS = 1_000;

/** Which caller groups the requests to this gateway carried since it started (R21, R39). */
export class GroupCensus {
  private readonly counts = new Map<string, number>();
  private readonly sinceMs = performance.now();

  saw(group: string): void {
    const count = this.counts.get(group);
    if (count !== undefined || this.counts.size < MAX_GROUPS) this.counts.set(group, (count ?? 0) + 1);
  }

  seen(): { carried: ReadonlyMap<string, number>; sinceMs: number } {
    return { carried: this.counts, sinceMs: performance.now() - this.sinceMs };
  }
}

/** The same log of decisions, whose groups are counted on the way. */
export function countingGroups<Log extends { decided(decision: Decision, reachId: string): void }>(
  log: Log,
  groups: Pick<GroupCensus, 'saw'>,
): Log {
  const decided: Log['decided'] = (decision, reachId) => {
    groups.saw(decision.group);
    log.decided(decision, reachId);
  };
  return { ...log, decided };
}

/** What taking a canary out of the traffic does to the route table, and what is told of it. */
import type { Verdict } from '../policy/canary';
import { splitTarget, type RouteEntry } from '../protocol/route-table';
import type { CanaryVersion } from '../routing/versions';
import type { AlertInput } from './alerts';

/** Weight of the version that stays where nobody has written any. */
const STABLE_WEIGHT = 100;

/**
 * The table without the canary in its groups: its weight is 0 there, and where no route listed any version of the agent, one
 * for the stable version is written beside it. Others keep their weights. Null when there is nothing to change.
 */
export function rolledBack(entries: readonly RouteEntry[], canary: CanaryVersion): RouteEntry[] | null {
  let table = [...entries];
  for (const from of canary.groups) table = withoutCanary(table, canary, from);
  const same = table.length === entries.length && table.every((one, position) => one === entries[position]);
  return same ? null : table;
}

function withoutCanary(table: RouteEntry[], canary: CanaryVersion, from: string): RouteEntry[] {
  const { ability, agentName } = canary;
  const to = `${agentName}#${canary.canary}`;
  const isOwn = (one: RouteEntry) =>
    one.ability === ability && one.from === from && splitTarget(one.to).name === agentName;
  const own = table.filter(isOwn);
  const stable = { ability, from, to: `${agentName}#${canary.stable}`, weight: STABLE_WEIGHT };
  const weightOf = (target: string) => own.find((one) => one.to === target)?.weight ?? 0;
  // Somebody has made it the one that bears more meanwhile: that is no canary any more. Of equals it still is one.
  if (weightOf(to) > weightOf(stable.to)) return table;
  const others = own.some((one) => one.weight > 0 && one.to !== to);
  const kept = table.map((one) => (isOwn(one) && one.to === to && one.weight > 0 ? { ...one, weight: 0 } : one));
  const barred = own.some((one) => one.to === to) ? [] : [{ ability, from, to, weight: 0 }];
  return [...kept, ...(others ? [] : [stable]), ...barred];
}

/**
 * The alert about a rollback, with the figures.
 * @param shareElsewhere what the canary still gets of groups that no route names, 0–1, by {@link shareUnnamed}
 */
export function rollbackAlert(canary: CanaryVersion, verdict: Verdict, shareElsewhere: number): AlertInput {
  const { agentName, ability, canary: version, stable, groups } = canary;
  const { by, p, threshold, requests, look } = verdict;
  const told = (value: number) => (by === 'failures' ? `${(value * 100).toFixed(1)} %` : `${Math.round(value)} ms`);
  const what = by === 'failures' ? `fails ${told(verdict.canary)} of its calls` : `takes ${told(verdict.canary)}`;
  const message = `${agentName} ${version} ${what} of ${ability}, ${stable} ${told(verdict.stable)} (p ${p.toExponential(1)}, needed ${threshold.toExponential(1)}, ${requests.canary} and ${requests.stable} calls): its weight is 0 now in the group ${groups.join(', ')}${elsewhere(canary, shareElsewhere)}; mend it, then give it a weight with agent-reach routes set`;
  return {
    kind: 'canary_rolled_back',
    key: `${agentName}#${version}/${ability}/${groups.join(',')}`,
    severity: 'critical',
    message,
    details: {
      agent_name: agentName,
      agent_version: version,
      stable_version: stable,
      ability,
      groups,
      by,
      canary: verdict.canary,
      stable: verdict.stable,
      requests,
      p,
      threshold,
      look,
      share_elsewhere: shareElsewhere,
    },
    windowMs: 60_000,
  };
}

/** Routes are matched by group, so those written say nothing of callers of others; it is not known which there are. */
function elsewhere({ agentName, ability, canary, stable }: CanaryVersion, share: number): string {
  if (share === 0) return '';
  const percent = Math.round(share * 1_000) / 10;
  const bar = `agent-reach routes set ${ability} GROUP ${agentName}#${stable}=${STABLE_WEIGHT} ${agentName}#${canary}=0`;
  return `, but groups that no route names still give it ${percent} % (to bar it there too: ${bar})`;
}

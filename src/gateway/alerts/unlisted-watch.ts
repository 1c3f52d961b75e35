import type { World } from '../../protocol/world';
import { unlistedVersions, type UnlistedPlace, type UnlistedVersion } from '../../routing/versions';
import type { AlertInput, AlertSink } from './alert';

/** A version that stays unlisted is told of again after so long, ms. */
const WINDOW_MS = 30 * 86_400_000;
/** A deployment registers several versions at once: they are looked at together, ms. */
const SETTLE_MS = 500;
/** Places that an alert lists. */
const MAX_PLACES = 20;

/** What the watch follows: the registry's view. */
export interface WatchedView {
  world(): World;
  onChange(listener: () => void): () => void;
}

/**
 * Raises an alert for each new version of a known agent that no route lists (R21): once, however many processes see it.
 * Looks whenever a descriptor or the route table changes; heartbeats change nothing. Answers how to stop.
 */
export function watchUnlisted(view: WatchedView, alerts: AlertSink): () => void {
  let known: readonly unknown[] = [];
  let timer: NodeJS.Timeout | null = null;
  const look = () => {
    timer = null;
    for (const found of unlistedVersions(view.world())) void alerts.raise(alertOf(found));
  };
  const notice = () => {
    const { agents, routes } = view.world();
    const seen = [routes?.etag, ...agents.map(({ descriptor }) => descriptor)];
    if (seen.length === known.length && seen.every((one, position) => one === known[position])) return;
    known = seen;
    timer ??= setTimeout(look, SETTLE_MS).unref();
  };
  notice();
  const stop = view.onChange(notice);
  return () => {
    stop();
    if (timer) clearTimeout(timer);
  };
}

/** The alert about one version. */
export function alertOf({ agent, beside, where }: UnlistedVersion): AlertInput {
  const { name, version, registered_at, first_registered_at } = agent;
  const percent = Math.round(where[0]!.share * 1_000) / 10;
  return {
    kind: 'unlisted_version',
    key: `${name}#${version}@${first_registered_at ?? registered_at}`,
    severity: 'warning',
    message: `${name} ${version} is new and no route lists it: it gets ${percent} % of ${placesIn(where)}; say what it is to get, for example: ${exampleFor(agent, where[0]!)}`,
    details: {
      agent_name: name,
      agent_version: version,
      beside,
      share: where[0]!.share,
      where: where.slice(0, MAX_PLACES).map(({ ability, group }) => ({ ability, group })),
    },
    windowMs: WINDOW_MS,
  };
}

/** `mend, paint in the group default, 1.0.0 the rest; and of …`: another version may bear the most in another group. */
function placesIn(where: readonly UnlistedPlace[]): string {
  const shown = where.slice(0, MAX_PLACES);
  const parts = [...new Set(shown.map(({ beside }) => beside))].map((beside) => {
    const places = shown.filter((place) => place.beside === beside);
    const abilities = [...new Set(places.map(({ ability }) => ability))];
    const groups = [...new Set(places.map(({ group }) => group))];
    return `${abilities.join(', ')} in the group ${groups.join(', ')}, ${beside} the rest`;
  });
  const more = where.length > MAX_PLACES ? [`and ${where.length - MAX_PLACES} places more`] : [];
  return [...parts, ...more].join('; of ');
}

/**
 * Setting the routes of an agent replaces those there are, so the example keeps them: a version at 0 must stay there. The
 * newcomer gets 5 % of what those have that can take calls: when routes give nothing to any of them, because they name
 * only versions that were removed, the one that bears the calls gets its weight too, or the newcomer would have them all.
 */
function exampleFor(
  { name, version }: UnlistedVersion['agent'],
  { ability, group, beside, listed, offering }: UnlistedPlace,
): string {
  const borne = listed.some((one) => one.weight > 0 && offering.includes(one.version));
  const kept = borne ? listed : [...listed, { version: beside, weight: 95 }];
  const bearing = kept.filter((one) => offering.includes(one.version));
  const total = bearing.reduce((sum, { weight }) => sum + weight, 0);
  // Weights are integers: 5 % of a small sum is none, or a half.
  const factor = Math.ceil(19 / Math.min(19, total));
  const scaled = kept.map((one) => ({ ...one, weight: one.weight * factor }));
  const added = { version, weight: Math.round((total * factor) / 19) };
  const targets = [...scaled, added].map((one) => `${name}#${one.version}=${one.weight}`);
  return `agent-reach routes set ${ability} ${group} ${targets.join(' ')}`;
}

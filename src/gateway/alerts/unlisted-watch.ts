import type { World } from '../../protocol/world';
import { unlistedVersions, type UnlistedVersion } from '../../routing/versions';
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
  const groups = [...new Set(where.map(({ group }) => group))];
  const abilities = [...new Set(where.map(({ ability }) => ability))];
  const percent = Math.round(where[0]!.share * 1_000) / 10;
  const example = `agent-reach routes set ${abilities[0]} ${groups[0]} ${name}#${beside}=95 ${name}#${version}=5`;
  return {
    kind: 'unlisted_version',
    key: `${name}#${version}@${first_registered_at ?? registered_at}`,
    severity: 'warning',
    message: `${name} ${version} is new and no route lists it: it gets ${percent} % of ${abilities.join(', ')} in the group ${groups.join(', ')}, ${beside} the rest; say what it is to get, for example: ${example}`,
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

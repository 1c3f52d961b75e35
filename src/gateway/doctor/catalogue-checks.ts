import { setImmediate } from 'node:timers/promises';
import type { DoctorCheck } from '../../protocol/doctor';
import {
  checkBreakers,
  checkBulkheads,
  checkHealthIntervals,
  checkLeases,
  checkReadiness,
  bulkheadsSeen,
  type LeaseSeen,
} from '../../routing/doctor/agents';
import { checkDescriptions, checkNames, checkOverlap, type SearchedText } from '../../routing/doctor/names';
import { checkGroups, checkHealthThreshold, checkMeaning, checkWeights } from '../../routing/doctor/settings';
import { NamespaceRetention } from '../dead-letters/retention';
import { systemClock } from '../../registry/clock';
import { judgeConnects, judgeReuse } from './connections';
import { judgeDeadLetters } from './dead-letters';
import type { Check, DoctorOptions } from './options';

type CatalogueCheck = Exclude<DoctorCheck, `temporal.${string}` | `etcd.${string}` | 'registry.view' | 'clock.skew'>;

/** Texts are searched for one after the other for this long, ms; the rest is left out and counted. */
const SEARCH_MS = 4_000;
/** Of each ability so many examples are searched for. */
const EXAMPLES = 3;
const HITS = 5;
/** So many dead letters are read at once, and further ones for so long, ms: a page without any takes 3 s at most, and the check has 8 s. */
const LETTERS = 100;
const LETTERS_MS = 4_000;

/** Checks of what is registered, configured and measured. */
export function catalogueChecks(options: DoctorOptions): Record<CatalogueCheck, Check> {
  const { config, view } = options;
  const world = () => view.world();
  const descriptors = () => world().agents.map(({ descriptor }) => descriptor);
  const { weights, enabled_factors: enabledFactors, exploration } = config.router;
  return {
    'connections.reuse': () => judgeReuse(options.connections()),
    'connections.success': () => judgeConnects(options.connections()),
    'names.near': () => checkNames(descriptors()),
    'descriptions.clear': () => checkDescriptions(descriptors()),
    'descriptions.overlap': async () => {
      const { searched, skipped } = await searchTexts(options);
      return checkOverlap(searched, skipped);
    },
    'health.interval': () => checkHealthIntervals(descriptors(), config.breaker.window_sec),
    'agents.ready': () => checkReadiness(world().agents),
    'leases.ttl': () => checkLeases(leasesOf(options)),
    'bulkheads.size': () => checkBulkheads(bulkheadsSeen(world().agents, world().stats, config.bulkhead.limits)),
    'breakers.state': () => checkBreakers(options.breakers.list()),
    'canary.groups': () => checkGroups({ routed: options.routedGroups(), ...options.groups.seen() }),
    'router.weights': () => checkWeights({ weights, enabledFactors, exploration }),
    'router.health-threshold': () => checkHealthThreshold(config.registry.health_threshold, world().degraded ?? null),
    'router.meaning': () => checkMeaning(options.vectors(), config.embeddings.url !== undefined),
    'dead-letters.expiring': () => checkDeadLetters(options),
  };
}

/** The texts of all abilities, each searched for as a caller would, as far as time allows. */
async function searchTexts({ view, router }: DoctorOptions): Promise<{ searched: SearchedText[]; skipped: number }> {
  const texts = new Map<string, Omit<SearchedText, 'hits'>>();
  for (const { descriptor } of view.world().agents)
    for (const { name: ability, description, examples } of descriptor.capabilities) {
      if (description.trim())
        texts.set(`${ability} ${description}`, { ability, kind: 'description', text: description });
      for (const text of examples.slice(0, EXAMPLES))
        texts.set(`${ability} ${text}`, { ability, kind: 'example', text });
    }
  const endsMs = performance.now() + SEARCH_MS;
  const searched: SearchedText[] = [];
  for (const text of texts.values()) {
    if (performance.now() > endsMs) break;
    if (text.text.trim()) searched.push({ ...text, hits: await router.searchAbilities(text.text, HITS) });
    // A search whose vectors are known waits for nothing: without a pause nobody else would be served for all this time.
    await setImmediate();
  }
  return { searched, skipped: texts.size - searched.length };
}

/** The lease of each instance as it was registered: what is left of it and what has passed since the last heartbeat. */
function leasesOf({ view, now }: DoctorOptions): LeaseSeen[] {
  const names = new Set(view.world().agents.map(({ name }) => name));
  return [...names].flatMap((agent) =>
    view.agent(agent).flatMap(({ instances }) =>
      instances.flatMap(({ instance_id: instance, lease_remaining_sec: left, last_heartbeat: beat }) => {
        if (left === undefined) return [];
        const sinceSec = beat === undefined ? 0 : Math.max(0, (now().getTime() - Date.parse(beat)) / 1_000);
        return [{ agent, instance, ttlSec: Math.round(left + sinceSec) }];
      }),
    ),
  );
}

async function checkDeadLetters({ config, client, deadLetters, now }: DoctorOptions) {
  const beforeMs = config.dead_letters.alert_before;
  const retention = new NamespaceRetention({ client, namespace: config.temporal.namespace, clock: systemClock });
  const until = new Date(now().getTime() + beforeMs - (await retention.ms())).toISOString();
  return judgeDeadLetters({ ...(await readLetters(deadLetters, until)), beforeMs });
}

/** All pages that can be read in time: the list is newest first, so the letter that is lost first is on its last one. */
async function readLetters(deadLetters: DoctorOptions['deadLetters'], until: string) {
  const endsMs = performance.now() + LETTERS_MS;
  const letters: { reach_id: string; expires_at: string }[] = [];
  let cursor: string | undefined;
  do {
    const query = { until, limit: String(LETTERS), ...(cursor !== undefined && { cursor }) };
    const page = await deadLetters.list(query);
    letters.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor !== undefined && performance.now() < endsMs);
  return { letters, more: cursor !== undefined };
}

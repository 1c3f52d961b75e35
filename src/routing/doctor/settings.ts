/** Whether the router is set so that nobody starves and nothing is aimed at nobody (R17, R21, R24, R39). Pure. */
import { closestNames } from '../../protocol/nearest';
import { orFine, type Finding } from '../../protocol/doctor';
import type { FactorName, RouterConfig } from '../types';

/** Above this reliability starves agents that failed once (R38). */
const MAX_RELIABILITY = 0.3;
/** Sensible shares of calls that explore. */
const MAX_EXPLORATION = 0.3;
const MAX_BAND = 0.2;

/** What is read of the configuration. */
export interface RouterSettings {
  weights: RouterConfig['weights'];
  enabledFactors: readonly FactorName[];
  exploration: { rate: number; band: number };
}

/** Weights that starve agents or decide nothing (R17, R38). */
export function checkWeights({ weights, enabledFactors, exploration }: RouterSettings): Finding[] {
  const id = 'router.weights';
  const used = enabledFactors.map((factor) => [factor, weights[factor]] as const);
  const sum = used.reduce((total, [, weight]) => total + weight, 0);
  const share = (factor: FactorName) => (enabledFactors.includes(factor) && sum > 0 ? weights[factor] / sum : 0);
  const found: Finding[] = [];
  const add = (finding: Omit<Finding, 'id'>) => found.push({ id, ...finding });
  if (share('reliability_score') > MAX_RELIABILITY + 1e-9)
    add({
      severity: 'warning',
      subject: 'router.weights.reliability_score',
      measured: `reliability weighs ${share('reliability_score').toFixed(2)} of the score`,
      why: 'an agent that failed a few times gets no calls any more, and so no chance to show that it is well again',
      fix: `set it to ${MAX_RELIABILITY} or less; breakers and ejection keep broken agents out`,
    });
  if (share('semantic_similarity') === 0)
    add({
      severity: 'warning',
      subject: 'router.weights.semantic_similarity',
      measured: 'similarity weighs nothing',
      why: 'the text of a request does not matter: the fastest agent takes what another is for',
      fix: 'give it a weight, 0.6 by default',
    });
  if (Math.abs(sum - 1) > 0.001)
    add({
      severity: 'info',
      subject: 'router.weights',
      measured: `the weights in use sum to ${Number(sum.toFixed(3))}`,
      why: 'they are scaled to 1, so a score does not show the numbers written here',
      fix: 'write weights that sum to 1',
    });
  if (exploration.rate === 0 || exploration.band === 0)
    add({
      severity: 'info',
      subject: 'router.exploration',
      measured: `rate ${exploration.rate}, band ${exploration.band}: nothing is ever tried`,
      why: 'of agents that are as good, one takes all, and what is known of the others grows old',
      fix: 'set router.exploration.rate to 0.1 and band to 0.05',
    });
  if (exploration.rate > MAX_EXPLORATION || exploration.band > MAX_BAND)
    add({
      severity: 'warning',
      subject: 'router.exploration',
      measured: `rate ${exploration.rate}, band ${exploration.band}`,
      why: 'many calls go to an agent that is not the best one',
      fix: `keep the rate at ${MAX_EXPLORATION} and the band at ${MAX_BAND} or less`,
    });
  return orFine(found, id, used.map(([factor, weight]) => `${factor} ${weight}`).join(', '));
}

/** R38: below it degraded mode comes too late, above it too early. */
const THRESHOLD_FROM = 0.25;
const THRESHOLD_TO = 0.4;

/** The health threshold, and whether the platform is below it (R24). */
export function checkHealthThreshold(
  threshold: number,
  degraded: { healthyShare: number; since: string } | null,
): Finding[] {
  const id = 'router.health-threshold';
  const found: Finding[] = [];
  if (degraded)
    found.push({
      id,
      severity: 'error',
      subject: 'degraded mode',
      measured: `${Math.round(degraded.healthyShare * 100)} % of the agents are healthy since ${degraded.since}, the threshold is ${threshold}`,
      why: 'calls that find nobody ready fail at once, and the others are spread rather than aimed',
      fix: 'look for what the failing agents have in common: a network, a host, a deployment',
      command: 'agent-reach agents',
    });
  if (threshold < THRESHOLD_FROM || threshold > THRESHOLD_TO)
    found.push({
      id,
      severity: 'warning',
      subject: 'registry.health_threshold',
      measured: `it is ${threshold}`,
      why:
        threshold < THRESHOLD_FROM
          ? 'degraded mode comes when nearly nobody is left'
          : 'a rolling deployment is taken for an outage',
      fix: `choose it from ${THRESHOLD_FROM} to ${THRESHOLD_TO} by the availability that is promised; docs/config.md says how`,
    });
  return orFine(found, id, `${threshold}, and enough agents are healthy`);
}

/** Groups of the route table against those that requests carried. */
export interface GroupsSeen {
  /** `from` of the routes. */
  routed: readonly string[];
  /** By group, requests of this process. */
  carried: ReadonlyMap<string, number>;
  sinceMs: number;
}

/** So soon after a start nothing can be said of traffic that did not come, ms and requests. */
const EARLY_MS = 3_600_000;
const MANY_REQUESTS = 100;

/** Canary groups that no request carries, and groups that look like one of them (R21). */
export function checkGroups({ routed, carried, sinceMs }: GroupsSeen): Finding[] {
  const id = 'canary.groups';
  const groups = [...new Set(routed)];
  const total = [...carried.values()].reduce((sum, count) => sum + count, 0);
  const settled = sinceMs >= EARLY_MS || total >= MANY_REQUESTS;
  const unused = groups
    .filter((group) => !carried.has(group))
    .map((group): Finding => {
      const [near] = closestNames(group, carried.keys(), 1);
      return {
        id,
        severity: settled || near ? 'warning' : 'info',
        subject: group,
        measured: `none of ${total} requests to this gateway in ${spanOf(sinceMs)} carried the group ${group}${near ? `; some carried ${near.name} (${near.why})` : ''}`,
        why: 'the canary gets no traffic, so nothing is learned of it',
        fix: near
          ? `let the callers send group ${JSON.stringify(group)}, or route ${JSON.stringify(near.name)}`
          : 'let callers send this group, or take its routes out',
        command: 'agent-reach routes list',
      };
    });
  return orFine(unused, id, groups.length === 0 ? 'no routes' : `${groups.length} groups, all carried by requests`);
}

function spanOf(ms: number): string {
  const minutes = Math.round(ms / 60_000);
  return minutes < 1 ? 'the last minute' : minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}

/** How routing compares texts now. */
export function checkMeaning(vectors: 'ready' | 'warming' | 'lexical', configured: boolean): Finding[] {
  const id = 'router.meaning';
  if (vectors === 'ready') return [{ id, severity: 'ok', measured: 'embeddings answer, all vectors are there' }];
  if (vectors === 'warming')
    return [
      {
        id,
        severity: 'info',
        measured: 'vectors of new descriptors are being computed',
        why: 'until they are there, words are compared',
        fix: 'wait a moment; if it stays so, see how fast the embedding endpoint answers',
      },
    ];
  return [
    {
      id,
      severity: configured ? 'error' : 'warning',
      subject: 'embeddings.url',
      measured: configured ? 'the embedding endpoint does not answer' : 'no embedding endpoint is configured',
      why: 'words are compared instead of meanings: paraphrases and other languages go astray',
      fix: configured
        ? 'see the log ("vectors cannot be computed") and mend the endpoint'
        : 'set embeddings.url to an OpenAI-compatible endpoint',
    },
  ];
}

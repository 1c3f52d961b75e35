/** The circumstances of a logged decision as the router sees them: as they were, but for what is changed. */
import { createHash } from 'node:crypto';
import type { BreakerChanges, ReplayChanges } from '../../protocol/decision-log';
import type { LoggedDecision, OfferFacts } from '../../protocol/logged-decision';
import type { BreakerGate, BreakerKey, BreakerLookup } from '../../protocol/reliability';
import { routeTable, type RouteTable } from '../../protocol/route-table';
import type { AbilityStats, StatsLookup } from '../../protocol/world';
import { splitTarget } from '../scope';

/** Share of a breaker that is put into bypass without saying how much: the default of `breaker.bypass_share`. */
const BYPASS_SHARE = 0.05;
const RETRY_MS = 1_000;

/** Whether `name` or `name#version` means this agent. */
export function isMeant(ref: string, { agent_name, agent_version }: Pick<OfferFacts, 'agent_name' | 'agent_version'>) {
  const [name, version] = splitTarget(ref);
  return name === agent_name && (version === undefined || version.replace(/^v/, '') === agent_version);
}

/** Names one ability of one version of an agent. */
export function offerKey(agentName: string, agentVersion: string, ability: string): string {
  return `${agentName}#${agentVersion}/${ability}`;
}

/** The offers of a decision by their names. */
export type OffersByKey = ReadonlyMap<string, OfferFacts>;

/**
 * What was measured then. Where not everybody is in the record, those not measured keep the latency that stood in for
 * them: the median of all cannot be told any more.
 */
export function statsThen(offers: OffersByKey, inputs: NonNullable<LoggedDecision['inputs']>): StatsLookup {
  const standIn = inputs.unrecorded ? inputs.newcomer_p50_ms : null;
  const blank = { p95_ms: null, p99_ms: null, in_flight: 0 };
  return {
    ability(agentName, agentVersion, ability): AbilityStats | null {
      const facts = offers.get(offerKey(agentName, agentVersion, ability))?.stats;
      if (!facts) return standIn === null ? null : { requests: 0, failures: 0, p50_ms: standIn, ...blank };
      return { ...facts, p50_ms: facts.p50_ms ?? standIn, ...blank };
    },
    instance: () => null,
  };
}

/** The route table then, or the one that is tried instead. */
export function routesThen(
  { routes = [], former_routes }: NonNullable<LoggedDecision['inputs']>,
  changed: RouteTable | undefined,
): RouteTable | undefined {
  if (changed) return changed;
  if (routes.length === 0 && former_routes === undefined) return undefined;
  return routeTable(routes, { etag: 'logged', former: former_routes });
}

/** The breakers then, but for what is changed. What chance let pass passes again; what is new is drawn from the id. */
export class BreakersThen implements BreakerLookup {
  constructor(
    private readonly decisionId: string,
    private readonly offers: OffersByKey,
    private readonly changes: BreakerChanges,
  ) {}

  gate({ agentName, agentVersion, ability }: BreakerKey): BreakerGate {
    const key = offerKey(agentName, agentVersion, ability);
    const facts = this.offers.get(key);
    const now = facts ? breakerNow(facts, this.changes) : null;
    if (now === null) return { share: 1, mark: null, detail: '', retryAfterMs: 0 };
    const before = facts?.breaker;
    const passes = before?.share === now.share ? before.passed : this.roll(key, before) < now.share;
    return { share: passes ? 1 : 0, mark: now.mark ?? 'bypass', detail: now.detail, retryAfterMs: RETRY_MS };
  }

  /** In [0, 1), and on the side of the recorded share on which the recorded draw fell. */
  private roll(key: string, before: OfferFacts['breaker']): number {
    const u = unitOf(`${this.decisionId}\u0000${key}`);
    if (!before || before.share <= 0 || before.share >= 1) return u;
    return before.passed ? u * before.share : before.share + u * (1 - before.share);
  }
}

interface BreakerNow extends Pick<BreakerGate, 'share' | 'mark'> {
  detail: string;
}

/** Null: closed. */
function breakerNow(facts: OfferFacts, changes: BreakerChanges): BreakerNow | null {
  const forced = changes.states?.findLast((one) => isMeant(one.agent, facts) && isOf(one.ability, facts));
  if (forced?.state === 'closed') return null;
  if (forced?.state === 'open') return { share: 0, mark: null, detail: 'open in this replay' };
  if (forced) return { share: forced.share ?? BYPASS_SHARE, mark: 'bypass', detail: 'in bypass in this replay' };
  if (changes.ignore || !facts.breaker) return null;
  const { share, mark } = facts.breaker;
  const changed = mark === 'bypass' ? changes.bypass_share : mark === 'recovery' ? changes.recovery_share : undefined;
  return { share: changed ?? share, mark, detail: 'as it was' };
}

const isOf = (ability: string | undefined, facts: OfferFacts) => ability === undefined || ability === facts.ability;

/** A number in [0, 1) that depends on the text alone. */
export function unitOf(text: string): number {
  return createHash('sha256').update(text).digest().readUIntBE(0, 6) / 2 ** 48;
}

/** Whether anything is changed that decides who may be chosen at all. */
export function changesWhoMay({ breakers, routes, without, agents }: ReplayChanges): boolean {
  return breakers !== undefined || routes !== undefined || without !== undefined || agents !== undefined;
}

/** Why nobody could be chosen, as data (R22): who was kept out by what, since when, by whose word, and what to do about it. */
import { MAX_RECORDED_CANDIDATES } from '../protocol/limits';
import type { BreakerGate } from '../protocol/reliability';
import type { Diagnosis, DiagnosedAgent, DiagnosisCause } from '../protocol/shapes';
import type { AbilityIndex, Offer } from './ability-index';
import { readinessOf, type Readiness } from './readiness';
import { STAGES, type Sieve, type Stage } from './sieve';

/** An offer that did not pass a filter. */
export interface Refusal {
  offer: Offer;
  stage: Stage;
}

/** What the refusals are read with. */
export interface Surroundings {
  index: AbilityIndex;
  sieve: Sieve;
  /** Wall clock: ejections end at a time of day. */
  now: () => Date;
}

/** What keeps an offer that was refused at a stage; a stage that is not here is its own cause. */
const CAUSES: Partial<Record<Stage, string>> = {
  message_type: 'message_type_not_accepted',
  version: 'version_mismatch',
  schema: 'payload_schema_mismatch',
  tried: 'already_tried',
  ancestor: 'delegation_loop',
  breaker: 'breaker_open',
};

/** Of those that are not ready, which may be ready first. */
const SOONEST: readonly string[] = [
  'busy',
  'ejected',
  'draining',
  'unavailable',
  'expired',
  'never_registered',
] satisfies Readiness['cause'][];

/** What a count of a cause says: `is …`, `are …`. */
const PHRASES: Readonly<Record<string, readonly [one: string, many: string]>> = {
  busy: ['is busy', 'are busy'],
  ejected: ['is ejected for failing in a row', 'are ejected for failing in a row'],
  draining: ['is draining', 'are draining'],
  unavailable: ['fails its health check', 'fail their health checks'],
  expired: ['is gone', 'are gone'],
  never_registered: ['has no instance and never had one', 'have no instance and never had one'],
  overloaded: ['has its bulkhead full', 'have their bulkheads full'],
  breaker_open: ['is held back by its breaker', 'are held back by their breakers'],
  message_type_not_accepted: ['accepts other message types', 'accept other message types'],
  version_mismatch: ['is of another version', 'are of other versions'],
  payload_schema_mismatch: ['refuses the payload', 'refuse the payload'],
  already_tried: ['was tried already', 'were tried already'],
  delegation_loop: ['waits for this very reach', 'wait for this very reach'],
  route_weight_zero: ['has no weight in the route table', 'have no weight in the route table'],
  superseded: ['gives way to a higher version', 'give way to higher versions'],
};

/** Ms until an ejection that ends this instant is seen to have ended. */
const MIN_RETRY_AFTER_EJECTION_MS = 100;

/**
 * The parts of a diagnosis that come from the refusals: each cause with its count and the agents, those first that came
 * furthest through the filters and, among those that are not ready, those that may be ready first.
 */
export function diagnosed(
  refusals: readonly Refusal[],
  surroundings: Surroundings,
): Required<Pick<Diagnosis, 'causes' | 'agents'>> {
  const kept = refusals
    .map((refusal) => ({ refusal, cause: causeOf(refusal, surroundings) }))
    .sort((a, b) => nearness(b.refusal.stage, b.cause) - nearness(a.refusal.stage, a.cause));
  const agents = kept.slice(0, MAX_RECORDED_CANDIDATES).map(({ refusal, cause }) => ({
    ...toAgent(refusal, surroundings),
    cause,
  }));
  return { causes: countCauses(kept.map(({ cause }) => cause)), agents };
}

/** `2 are busy`: how many a cause keeps; causes that another release knows are told by their names. */
export function phrase(cause: string, count: number): string {
  const [one, many] = Object.hasOwn(PHRASES, cause)
    ? PHRASES[cause]!
    : Array<string>(2).fill(cause.replaceAll('_', ' '));
  return `${count} ${count === 1 ? one : many}`;
}

/** What keeps an offer: its stage, or for one that is not ready how so. */
function causeOf({ offer, stage }: Refusal, { index }: Surroundings): string {
  return stage === 'readiness' ? readinessOf(index.agentOf(offer)).cause : (CAUSES[stage] ?? stage);
}

/** Greater for what is nearer to success. */
function nearness(stage: Stage, cause: string): number {
  return STAGES.indexOf(stage) * SOONEST.length - Math.max(0, SOONEST.indexOf(cause));
}

/** In the order given. */
function countCauses(causes: readonly string[]): DiagnosisCause[] {
  const counts = new Map<string, number>();
  for (const cause of causes) counts.set(cause, (counts.get(cause) ?? 0) + 1);
  return [...counts].map(([cause, count]) => ({ cause, count, message: phrase(cause, count) }));
}

function toAgent({ offer, stage }: Refusal, surroundings: Surroundings): DiagnosedAgent {
  const { index, sieve } = surroundings;
  const agent = { agent_name: offer.agentName, agent_version: offer.agentVersion };
  if (stage === 'breaker') return { ...agent, ...heldBack(offer, surroundings) };
  const { status, since, detail, by } = readinessOf(index.agentOf(offer));
  if (stage !== 'readiness') return { ...agent, status, since, detail: sieve.explain(offer, stage) };
  const waitMs = untilBack(offer, surroundings);
  return {
    ...agent,
    status,
    since,
    detail,
    ...(by !== null && { by }),
    ...(waitMs !== null && { retry_after_ms: waitMs }),
  };
}

/** The breaker speaks: how it stands and since when, by an operator's word or its own. */
function heldBack(
  offer: Offer,
  { sieve, index, now }: Surroundings,
): Omit<DiagnosedAgent, 'agent_name' | 'agent_version'> {
  const gate = sieve.admission(offer)?.gate;
  const waitMs = gate && untilTried(gate, now());
  const ready = readinessOf(index.agentOf(offer));
  return {
    status: gate?.state ?? ready.status,
    since: gate?.since ?? ready.since,
    detail: gate?.detail || sieve.explain(offer, 'breaker'),
    by: gate?.by ?? 'its breaker',
    ...(waitMs !== undefined && { retry_after_ms: waitMs }),
  };
}

/** Ms until a breaker lets something pass: a probe, or the end of an operator's word; undefined where that has none. */
function untilTried({ heldUntil, retryAfterMs }: BreakerGate, now: Date): number | undefined {
  if (heldUntil === undefined) return retryAfterMs;
  return heldUntil === null ? undefined : Math.max(0, Date.parse(heldUntil) - now.getTime());
}

/** Ms until an agent whose ready instances are all ejected has one back; null when nobody knows. */
export function untilBack(offer: Offer, { index, now }: Pick<Surroundings, 'index' | 'now'>): number | null {
  const nowMs = now().getTime();
  const waits = index
    .agentOf(offer)
    .instances.map(({ status, ejected_until: until }) =>
      status === 'unavailable' && until !== undefined ? Date.parse(until) - nowMs : NaN,
    )
    .filter(Number.isFinite);
  return waits.length === 0 ? null : Math.max(MIN_RETRY_AFTER_EJECTION_MS, Math.min(...waits));
}

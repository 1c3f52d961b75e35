import { ReachError, type ReachErrorOptions } from '../protocol/reach-error';
import { HEARTBEAT_INTERVAL_MS, MAX_RECORDED_CANDIDATES } from '../protocol/limits';
import type { Diagnosis, Exclusion } from '../protocol/shapes';
import type { World } from '../protocol/world';
import type { AbilityIndex, Offer } from './ability-index';
import { acceptedTypes, adviceFor, typeAdvice, versionAdvice } from './advice';
import { diagnosed, untilBack, type Refusal } from './diagnosis';
import { readinessOf, type Readiness } from './readiness';
import { versionsOf } from './scope';
import { describeFindings, STAGES, type Sieve, type Stage } from './sieve';
import type { RouteRequest } from './types';
import { degradedNote } from './wording';

export type { Refusal } from './diagnosis';

/** A slot may come free any moment; anything else changes with a heartbeat. */
const RETRY_WHEN_BUSY_MS = 1_000;

/** The records of refusals, the first few in words; the rest is counted. */
export function toExclusions(refusals: readonly Refusal[], sieve: Sieve): Exclusion[] {
  return refusals.slice(0, MAX_RECORDED_CANDIDATES).map(({ offer, stage }) => ({
    agent_name: offer.agentName,
    agent_version: offer.agentVersion,
    reason: sieve.explain(offer, stage),
  }));
}

export interface Nobody {
  index: AbilityIndex;
  world: Pick<World, 'degraded'>;
  sieve: Sieve;
  request: RouteRequest;
  refusals: readonly Refusal[];
  /** Wall clock: ejections end at a time of day. */
  now: () => Date;
}

/**
 * The error for a request that nobody can take (R22). It speaks of the last filter that anybody came to: who would
 * have fitted but for that is nearest to what the caller wants. The others are counted by what keeps them.
 */
export function nobodyFits(nobody: Nobody): ReachError {
  const furthest = Math.max(...nobody.refusals.map(({ stage }) => STAGES.indexOf(stage)));
  const stage = STAGES[furthest]!;
  const offers = nobody.refusals.filter((refusal) => refusal.stage === stage).map(({ offer }) => offer);
  const errorOf = Object.hasOwn(ERRORS, stage) ? ERRORS[stage]! : keptOut(stage);
  return errorOf(nobody, offers);
}

type ErrorOf = (nobody: Nobody, offers: readonly Offer[]) => ReachError;

const ERRORS: Partial<Record<Stage, ErrorOf>> = {
  message_type(nobody, offers) {
    const accepted = acceptedTypes(offers, (offer) => nobody.index.agentOf(offer).descriptor.accepted_message_types);
    const message = `nobody offering ${wanted(nobody)} accepts messages of type "${nobody.request.type}"; accepted: ${accepted.join(', ')}`;
    return refuse('message_type_not_accepted', nobody, {
      message,
      reason: 'message_type_not_accepted',
      advice: typeAdvice(accepted),
    });
  },
  version(nobody, offers) {
    const available = versionsOf(offers);
    const range = nobody.request.version;
    const asked = range === undefined ? 'a release' : JSON.stringify(range);
    const message = `no version of ${wanted(nobody)} satisfies ${asked}; there is ${available.join(', ')}`;
    const advice = versionAdvice(nobody.request, available);
    return refuse('version_not_found', nobody, { message, reason: 'version_mismatch', available, advice });
  },
  schema(nobody, offers) {
    const findings = offers.map((offer) => ({ offer, errors: nobody.sieve.findings(offer) }));
    const { offer, errors } = findings.reduce((least, next) =>
      next.errors.length < least.errors.length ? next : least,
    );
    const message = `the payload does not match the input schema of ${wanted(nobody)} (${offer.agentName}): ${describeFindings(errors)}; GET /v1/abilities/${offer.capability.name} shows it`;
    return refuse('payload_schema_mismatch', nobody, {
      message,
      reason: 'payload_schema_mismatch',
      options: { errors },
    });
  },
  tried(nobody, offers) {
    const message = `everybody who can take ${wanted(nobody)} was tried already: ${names(offers)}`;
    const options = { retryAfterMs: HEARTBEAT_INTERVAL_MS };
    return refuse('no_ready_instance', nobody, { message, reason: 'already_tried', options });
  },
  ancestor(nobody, offers) {
    const chain = [...(nobody.request.chain ?? []), wanted(nobody)].join(' → ');
    const message = `the chain of reaches would loop: ${chain}; ${names(offers)} already waits for it. Ask for another ability, or let somebody else offer this one`;
    return refuse('delegation_loop', nobody, { message, reason: 'delegation_loop' });
  },
  readiness: notReady,
  breaker: circuitOpen,
};

/** A filter that has no error of its own: what it says of each, and that nobody passes it. */
function keptOut(stage: Stage): ErrorOf {
  return (nobody, offers) => {
    const told = listed(offers, (offer) => nobody.sieve.explain(offer, stage));
    const message = `nobody may take ${wanted(nobody)}: ${told}`;
    return refuse('no_ready_instance', nobody, { message, reason: 'no_route' });
  };
}

/**
 * Nobody is ready: by status, or because probes and ejections leave none. In degraded mode (R24) the excess fails fast
 * instead of being told to wait for health. Envoy's panic threshold would now call instances whose health check fails
 * as well; we do not: R14 routes only to what can really take work, a reach that fails at a sick agent costs its caller
 * the whole deadline and may have had half an effect, and the sick agent the load that keeps it down.
 */
function notReady(nobody: Nobody, offers: readonly Offer[]): ReachError {
  const states = offers.map((offer) => readinessOf(nobody.index.agentOf(offer)));
  const all = (status: Readiness['status']) => states.every((state) => state.status === status);
  const unavailable = all('unavailable');
  const { degraded } = nobody.world;
  const prefix = degraded ? `${degradedNote(degraded)}; ` : '';
  const told = listed(offers, (_, i) => states[i]!.detail);
  const message = `${prefix}no agent is ready for ${wanted(nobody)}: ${told}`;
  const busy = states.some((state) => state.status === 'busy');
  const whenUp = unavailable ? untilFirstReturns(nobody, offers) : HEARTBEAT_INTERVAL_MS;
  const code = degraded ? 'degraded_mode' : unavailable ? 'all_instances_unavailable' : 'no_ready_instance';
  const unheard = all('never_registered');
  // Who has never been there does not come back by itself: no time is promised, and the advice says what to do.
  const options = unheard && !degraded ? {} : { retryAfterMs: busy ? RETRY_WHEN_BUSY_MS : whenUp };
  const why = unheard ? 'never_registered' : 'not_ready';
  return refuse(code, nobody, { message, reason: degraded ? 'degraded_mode' : why, options });
}

/** Ms until the first unavailable instance may be back: an ejected one when its time is over, another any heartbeat. */
function untilFirstReturns(nobody: Nobody, offers: readonly Offer[]): number {
  const waits = offers.map((offer) => {
    const { instances } = nobody.index.agentOf(offer);
    const others = instances.some(({ status, ejected_until }) => status === 'unavailable' && !ejected_until);
    const back = untilBack(offer, nobody) ?? HEARTBEAT_INTERVAL_MS;
    return others ? Math.min(back, HEARTBEAT_INTERVAL_MS) : back;
  });
  return waits.length === 0 ? HEARTBEAT_INTERVAL_MS : Math.min(...waits);
}

/** Somebody is ready, but breakers hold all of them back. */
function circuitOpen(nobody: Nobody, offers: readonly Offer[]): ReachError {
  const gates = offers.map((offer) => nobody.sieve.admission(offer)?.gate).filter((gate) => gate !== undefined);
  const told = listed(offers, (offer) => nobody.sieve.explain(offer, 'breaker'));
  const retryAfterMs = Math.min(...gates.map((gate) => gate.retryAfterMs));
  const message = `circuit breakers hold back all that are ready for ${wanted(nobody)}: ${told}; try again in ${retryAfterMs} ms`;
  const byHand = gates.length > 0 && gates.every(({ heldUntil }) => heldUntil !== undefined);
  const advice = byHand ? adviceFor('held_open') : undefined;
  return refuse('circuit_open', nobody, { message, reason: 'breaker_open', options: { retryAfterMs }, advice });
}

/** The first three in words, the rest counted. */
function listed(offers: readonly Offer[], detailOf: (offer: Offer, position: number) => string): string {
  const told = offers
    .slice(0, 3)
    .map((offer, i) => `${offer.agentName} ${offer.agentVersion}: ${detailOf(offer, i)}`)
    .join('; ');
  return offers.length > 3 ? `${told} (and ${offers.length - 3} more)` : told;
}

interface RefuseInput {
  message: string;
  reason: Diagnosis['reason'];
  available?: string[];
  options?: ReachErrorOptions;
  /** Default: what is known for the reason, else for the nearest cause. */
  advice?: string;
}

function refuse(code: ReachError['code'], nobody: Nobody, input: RefuseInput): ReachError {
  const { causes, agents } = diagnosed(nobody.refusals, nobody);
  const message = input.message + besides(nobody);
  const advice = input.advice ?? adviceFor(input.reason) ?? adviceFor(causes[0]?.cause ?? '');
  const { retryAfterMs } = input.options ?? {};
  const diagnosis: Diagnosis = {
    reason: input.reason,
    message,
    ...(advice !== undefined && { advice }),
    ...(retryAfterMs !== undefined && { retry_after_ms: retryAfterMs }),
    causes,
    agents,
    ...(input.available && { available_versions: input.available }),
  };
  return new ReachError(code, message, { ...input.options, diagnosis });
}

/** Who did not even come to the filter that the message speaks of. */
function besides(nobody: Nobody): string {
  const furthest = Math.max(...nobody.refusals.map(({ stage }) => STAGES.indexOf(stage)));
  const others = nobody.refusals.filter(({ stage }) => STAGES.indexOf(stage) < furthest);
  if (others.length === 0) return '';
  const causes = diagnosed(others, nobody).causes.map(({ message }) => message);
  return `; of the others ${causes.join(', ')}`;
}

function wanted({ request }: Nobody): string {
  const { ability, target_agent } = request;
  if (ability === undefined || ability === '*') return target_agent ?? 'any ability';
  return target_agent === undefined ? ability : `${ability} of ${target_agent}`;
}

function names(offers: readonly Offer[]): string {
  return [...new Set(offers.map((offer) => `${offer.agentName}#${offer.agentVersion}`))].slice(0, 5).join(', ');
}

/** `*` needs words to go by. */
export function nothingToCompare(): ReachError {
  const message = 'the payload has no text to choose an ability by; name the ability, or send text';
  const errors = [{ pointer: '/payload', message: 'has no text', fix: 'name the ability, or send text' }];
  return new ReachError('invalid_request', message, { errors });
}

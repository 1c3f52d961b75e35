import { ReachError, type ReachErrorOptions } from '../protocol/reach-error';
import { HEARTBEAT_INTERVAL_MS, MAX_RECORDED_CANDIDATES } from '../protocol/limits';
import type { Diagnosis, Exclusion } from '../protocol/shapes';
import type { AbilityIndex, Offer } from './ability-index';
import { readinessOf, type Readiness } from './readiness';
import { versionsOf } from './scope';
import { describeFindings, STAGES, type Sieve, type Stage } from './sieve';
import type { RouteRequest } from './types';

/** A slot may come free any moment; anything else changes with a heartbeat. */
const RETRY_WHEN_BUSY_MS = 1_000;

/** An offer that did not pass a filter. */
export interface Refusal {
  offer: Offer;
  stage: Stage;
}

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
  sieve: Sieve;
  request: RouteRequest;
  refusals: readonly Refusal[];
}

/**
 * The error for a request that nobody can take (R22). It speaks of the last filter that anybody came to: who would
 * have fitted but for that is nearest to what the caller wants.
 */
export function nobodyFits(nobody: Nobody): ReachError {
  const furthest = Math.max(...nobody.refusals.map(({ stage }) => STAGES.indexOf(stage)));
  const stage = STAGES[furthest]!;
  const offers = nobody.refusals.filter((refusal) => refusal.stage === stage).map(({ offer }) => offer);
  return ERRORS[stage](nobody, offers);
}

type ErrorOf = (nobody: Nobody, offers: readonly Offer[]) => ReachError;

const ERRORS: Record<Stage, ErrorOf> = {
  message_type(nobody, offers) {
    const accepted = [
      ...new Set(offers.flatMap((offer) => nobody.index.agentOf(offer).descriptor.accepted_message_types)),
    ];
    const message = `nobody offering ${wanted(nobody)} accepts messages of type "${nobody.request.type}"; accepted: ${accepted.join(', ')}`;
    return refuse('message_type_not_accepted', nobody, { offers, message, reason: 'message_type_not_accepted' });
  },
  version(nobody, offers) {
    const available = versionsOf(offers);
    const range = nobody.request.version;
    const asked = range === undefined ? 'a release' : JSON.stringify(range);
    const message = `no version of ${wanted(nobody)} satisfies ${asked}; there is ${available.join(', ')}`;
    return refuse('version_not_found', nobody, { offers, message, reason: 'version_mismatch', available });
  },
  schema(nobody, offers) {
    const findings = offers.map((offer) => ({ offer, errors: nobody.sieve.findings(offer) }));
    const { offer, errors } = findings.reduce((least, next) =>
      next.errors.length < least.errors.length ? next : least,
    );
    const message = `the payload does not match the input schema of ${wanted(nobody)} (${offer.agentName}): ${describeFindings(errors)}; GET /v1/abilities/${offer.capability.name} shows it`;
    return refuse('payload_schema_mismatch', nobody, {
      offers,
      message,
      reason: 'payload_schema_mismatch',
      options: { errors },
    });
  },
  tried(nobody, offers) {
    const message = `everybody who can take ${wanted(nobody)} was tried already: ${names(offers)}`;
    const options = { retryAfterMs: HEARTBEAT_INTERVAL_MS };
    return refuse('no_ready_instance', nobody, { offers, message, reason: 'not_ready', options });
  },
  readiness: notReady,
  // Somebody superseded somebody else, so somebody fits: this stage is never the last.
  superseded: notReady,
};

function notReady(nobody: Nobody, offers: readonly Offer[]): ReachError {
  const states = offers.map((offer) => readinessOf(nobody.index.agentOf(offer)));
  const all = (status: Readiness['status']) => states.every((state) => state.status === status);
  const never = all('never_registered');
  const told = offers.slice(0, 3).map((offer, i) => `${offer.agentName} ${offer.agentVersion}: ${states[i]!.detail}`);
  const more = offers.length > 3 ? ` (and ${offers.length - 3} more)` : '';
  const message = `no agent is ready for ${wanted(nobody)}: ${told.join('; ')}${more}`;
  const busy = states.some((state) => state.status === 'busy');
  const options = { retryAfterMs: busy ? RETRY_WHEN_BUSY_MS : HEARTBEAT_INTERVAL_MS };
  const code = all('unavailable') ? 'all_instances_unavailable' : 'no_ready_instance';
  return refuse(code, nobody, { offers, message, reason: never ? 'never_registered' : 'not_ready', options });
}

interface RefuseInput {
  offers: readonly Offer[];
  message: string;
  reason: Diagnosis['reason'];
  available?: string[];
  options?: ReachErrorOptions;
}

function refuse(code: ReachError['code'], { index }: Nobody, input: RefuseInput): ReachError {
  const agents = input.offers.slice(0, MAX_RECORDED_CANDIDATES).map((offer) => {
    const { status, since, detail } = readinessOf(index.agentOf(offer));
    return { agent_name: offer.agentName, agent_version: offer.agentVersion, status, since, detail };
  });
  const diagnosis: Diagnosis = {
    reason: input.reason,
    message: input.message,
    agents,
    ...(input.available && { available_versions: input.available }),
  };
  return new ReachError(code, input.message, { ...input.options, diagnosis });
}

function wanted({ request }: Nobody): string {
  const { ability, target_agent } = request;
  if (ability === undefined || ability === '*') return target_agent ?? 'any ability';
  return target_agent === undefined ? ability : `${ability} of ${target_agent}`;
}

function names(offers: readonly Offer[]): string {
  return [...new Set(offers.map((offer) => `${offer.agentName}#${offer.agentVersion}`))].slice(0, 5).join(', ');
}

/** `*` found no ability that has to do with the text. */
export function offTopic(nearest: { ability: string; fit: number } | null): ReachError {
  const message = 'no ability fits what the payload says; name an ability, or see GET /v1/abilities for what there is';
  const closest =
    nearest === null
      ? []
      : [{ name: nearest.ability, why: `nearest in meaning, but fits with ${nearest.fit.toFixed(2)} only` }];
  return new ReachError('ability_not_found', message, { diagnosis: { reason: 'off_topic', message, closest } });
}

/** `*` needs words to go by. */
export function nothingToCompare(): ReachError {
  const message = 'the payload has no text to choose an ability by; name the ability, or send text';
  const errors = [{ pointer: '/payload', message: 'has no text', fix: 'name the ability, or send text' }];
  return new ReachError('invalid_request', message, { errors });
}

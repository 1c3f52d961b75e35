import * as semver from 'semver';
import { closestNames } from '../protocol/nearest';
import type { Diagnosis } from '../protocol/shapes';
import { ReachError } from '../protocol/reach-error';
import { compareVersionsDescending, isVersionRange, normalizeVersion, VERSION_RANGE_FIX } from '../protocol/versions';
import { adviceFor } from './advice';
import { readinessOf } from './readiness';
import { toGroup, type AbilityIndex, type Offer, type OfferGroup } from './ability-index';
import type { RouteRequest } from './types';

/** Asks for whichever ability fits the payload's text. */
export const ANY_ABILITY = '*';

const NAMES_IN_HINT = 3;

/** What a request names: an ability, an agent, one version of it, or nothing in particular. */
export interface Scope {
  ability?: string;
  agent?: string;
  version?: string;
}

/** Whether an offer is what the names in a request mean. */
export function inScope(offer: Offer, { ability, agent, version }: Scope): boolean {
  return (
    (ability === undefined || offer.capability.name === ability) &&
    (agent === undefined || offer.agentName === agent) &&
    (version === undefined || offer.agentVersion === version)
  );
}

/**
 * Reads the names of a request.
 * @throws ReachError `invalid_request` for a version or range that is none
 */
export function scopeOf(request: RouteRequest): Scope {
  const { version } = request;
  if (version !== undefined && !isVersionRange(version)) {
    throw invalid('/version', `${JSON.stringify(version)} is not a version range`, VERSION_RANGE_FIX);
  }
  const ability = request.ability === ANY_ABILITY ? undefined : request.ability;
  if (request.target_agent === undefined) return { ability };
  const [agent, exact] = splitTarget(request.target_agent);
  if (exact === undefined) return { ability, agent };
  const exactVersion = normalizeVersion(exact);
  if (exactVersion === null) {
    const fix = 'write name#1.2.3, or the name alone and a range in `version`';
    throw invalid('/target_agent', `${JSON.stringify(exact)} is not a version`, fix);
  }
  return { ability, agent, version: exactVersion };
}

/** `name#version` → both; the version is undefined when there is none. */
export function splitTarget(target: string): [name: string, version?: string] {
  const at = target.indexOf('#');
  return at < 0 ? [target] : [target.slice(0, at), target.slice(at + 1)];
}

function invalid(pointer: string, message: string, fix: string): ReachError {
  return new ReachError('invalid_request', `${pointer} ${message}; ${fix}`, { errors: [{ pointer, message, fix }] });
}

/**
 * The offers that a scope names.
 * @throws ReachError `agent_not_found`, `version_not_found`, `ability_not_found`, each with the nearest names (R22)
 */
export function groupIn(index: AbilityIndex, scope: Scope): OfferGroup {
  const { ability, agent } = scope;
  if (agent === undefined) {
    const group = ability === undefined ? index.all : index.ability(ability);
    if (!group || group.offers.length === 0) throw abilityNotFound(index, ability);
    return group;
  }
  const ofAgent = index.agent(agent);
  if (!ofAgent) throw agentNotFound(index, agent);
  const ofVersion = ofAgent.offers.filter((offer) => inScope(offer, { version: scope.version }));
  if (ofVersion.length === 0) throw noSuchVersion(scope, ofAgent);
  const offers = ofVersion.filter((offer) => inScope(offer, scope));
  if (offers.length === 0) throw notOfThisAgent(index, scope, ofVersion);
  return offers.length === ofAgent.offers.length ? ofAgent : toGroup(offers);
}

function abilityNotFound(index: AbilityIndex, ability: string | undefined): ReachError {
  if (ability === undefined) {
    const message = 'no agent is registered yet; register one with POST /v1/agents';
    const advice = 'register an agent: agent-reach register FILE, or POST /v1/agents';
    return new ReachError('ability_not_found', message, {
      diagnosis: { reason: 'name_mismatch', message, advice, closest: [] },
    });
  }
  const closest = closestNames(ability, index.abilityNames(), NAMES_IN_HINT);
  const message = `nobody offers the ability ${JSON.stringify(ability)}; ${hint(closest, 'GET /v1/abilities lists what there is')}`;
  return new ReachError('ability_not_found', message, { diagnosis: unknownName('name_mismatch', message, closest) });
}

function agentNotFound(index: AbilityIndex, agent: string): ReachError {
  const closest = closestNames(agent, index.agentNames(), NAMES_IN_HINT);
  const message = `there is no agent ${JSON.stringify(agent)}; ${hint(closest, 'GET /v1/agents lists who is there')}`;
  return new ReachError('agent_not_found', message, { diagnosis: unknownName('agent_unknown', message, closest) });
}

/** What is told of a name that there is none of: `message`, what is near, and what to do. */
export function unknownName(
  reason: 'name_mismatch' | 'agent_unknown',
  message: string,
  closest: NonNullable<Diagnosis['closest']>,
): Diagnosis {
  const advice = closest.length > 0 ? adviceFor(reason) : `nothing has a name like it: ${LOOK_BY[reason]}`;
  return { reason, message, ...(advice !== undefined && { advice }), closest };
}

/** Where to look when no name is near. */
const LOOK_BY = {
  name_mismatch: 'POST /v1/abilities:search finds abilities by meaning, and `*` takes whichever fits the text',
  agent_unknown: 'GET /v1/agents lists who is there, and an ability can be asked for without naming an agent',
} as const;

function noSuchVersion({ agent, version }: Scope, ofAgent: OfferGroup): ReachError {
  const available_versions = versionsOf(ofAgent.offers);
  const message = `${agent} has no version ${version}; there is ${available_versions.join(', ')}`;
  const advice = `name one that is there, such as ${agent}#${available_versions[0]}, or leave the version out`;
  const diagnosis = { reason: 'version_mismatch' as const, message, advice, available_versions };
  return new ReachError('version_not_found', message, { diagnosis });
}

function notOfThisAgent(index: AbilityIndex, { ability, agent }: Scope, offers: readonly Offer[]): ReachError {
  const own = [...new Set(offers.map((offer) => offer.capability.name))];
  const offering = index.ability(ability!)?.offers ?? [];
  const others = [...new Set(offering.map((offer) => offer.agentName))].slice(0, NAMES_IN_HINT);
  const ofOwn = closestNames(ability!, own, NAMES_IN_HINT);
  // Where nobody has exactly this name, it is misspelt: the agent's own come first, then what anybody offers.
  const closest =
    ofOwn.length > 0 || others.length > 0 ? ofOwn : closestNames(ability!, index.abilityNames(), NAMES_IN_HINT);
  const elsewhere = others.length > 0 ? `; ${others.join(', ')} does` : '';
  const message = `${agent} does not offer ${JSON.stringify(ability)}, it offers ${own.slice(0, 10).join(', ')}${elsewhere}`;
  const advice =
    others.length > 0
      ? `leave the agent out, or ask ${others[0]}`
      : ofOwn.length === 0 && closest.length > 0
        ? `if ${closest[0]!.name} is meant, leave the agent out; else ask ${agent} for one of its own`
        : `ask ${agent} for one of its own, or name an ability that is there`;
  const agents = offering.slice(0, NAMES_IN_HINT).map((offer) => offersIt(index, offer));
  return new ReachError('ability_not_found', message, {
    diagnosis: { reason: 'name_mismatch', message, advice, closest, ...(agents.length > 0 && { agents }) },
  });
}

/** Somebody else who was not asked. */
function offersIt(index: AbilityIndex, offer: Offer): NonNullable<Diagnosis['agents']>[number] {
  const { status, since, detail } = readinessOf(index.agentOf(offer));
  const told = `offers it: ${detail}`;
  return {
    agent_name: offer.agentName,
    agent_version: offer.agentVersion,
    status,
    since,
    detail: told,
    cause: 'not_asked',
  };
}

function hint(closest: readonly { name: string; why: string }[], otherwise: string): string {
  if (closest.length === 0) return otherwise;
  return `did you mean ${closest.map(({ name, why }) => `${name} (${why})`).join(', ')}?`;
}

/** Distinct versions of offers, best first: releases before pre-releases, which nobody gets without naming them. */
export function versionsOf(offers: readonly Offer[]): string[] {
  const isEarly = (version: string) => Number(semver.prerelease(version) !== null);
  return [...new Set(offers.map((offer) => offer.agentVersion))].sort(
    (a, b) => isEarly(a) - isEarly(b) || compareVersionsDescending(a, b),
  );
}

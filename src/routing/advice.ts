/** What to do when nobody can be chosen (R22): one sentence per cause, and the pre-release that a range leaves out. */
import * as semver from 'semver';
import type { Offer } from './ability-index';
import type { RouteRequest } from './types';

const READ_SCHEMA = 'correct the payload; GET /v1/abilities and the descriptor of the agent show its input schema';

/** By cause, as {@link DiagnosisCause} names it. */
const ADVICE: Readonly<Record<string, string>> = {
  busy: 'try again in a moment, or send it with mode async, which waits for a free place; if it stays so, add instances or raise max_concurrency',
  ejected: 'its calls failed in a row, so mend the agent; it is let back in by itself when the time is over',
  draining: 'it finishes its work and takes nothing new: wait for its next instance, or start one',
  unavailable: 'its health check fails: see what its health_check path answers, and mend that',
  expired: 'start it again: its SDK registers it by itself; mode async would wait for that',
  never_registered:
    'start an instance that registers itself, or give a descriptor of protocol http the endpoint.address of one that is there',
  overloaded:
    'it has as many calls as it may have: send less, send it with mode async, which waits for a place, or raise its limit (bulkhead.limits, max_concurrency) or its instances',
  breaker_open: 'mend the agent; a probe tries it by itself and the breaker closes; an operator can hold it closed',
  held_open:
    'somebody holds its breaker open by hand, and no probe ends that: ask who did, or take it back with agent-reach breakers auto AGENT ABILITY',
  already_tried: 'add another agent that offers it; a dead letter can be redriven when one of these is well',
  payload_schema_mismatch: READ_SCHEMA,
  delegation_loop: 'ask for another ability, do the work in an agent above, or let somebody else offer this one',
  route_weight_zero:
    'the route table gives it nothing for this group: give one of its versions a weight (agent-reach routes set), or send another group',
  off_topic: 'name the ability, say more about what is wanted, or register an agent that does it',
  name_mismatch: 'use one of the nearest names if it is meant; GET /v1/abilities lists all',
  agent_unknown: 'use one of the nearest names if it is meant; GET /v1/agents lists all',
  degraded_mode:
    'too few agents are healthy, so nothing waits: look for what they have in common, such as a network, a host or a deployment',
};

/** What to do about a cause; undefined for one that is not known here. */
export function adviceFor(cause: string): string | undefined {
  return Object.hasOwn(ADVICE, cause) ? ADVICE[cause] : undefined;
}

/** What to send instead of a type that nobody accepts. */
export function typeAdvice(accepted: readonly string[]): string {
  const types = accepted.slice(0, 5).map((type) => JSON.stringify(type));
  return `send it as ${types.join(' or ')}, or add the type to accepted_message_types of the agent`;
}

/**
 * What version to ask for instead. A pre-release that lies within the range is named: ranges leave those out (E03).
 * @param available best first
 */
export function versionAdvice({ version: range }: RouteRequest, available: readonly string[]): string {
  const [best] = available;
  const near = range === undefined || range === 'latest' ? undefined : available.find((one) => isLeftOut(one, range));
  if (near !== undefined)
    return `${near} lies within the range but is a pre-release, which is taken only when the range names it: ask for ${near}`;
  if (best === undefined) return 'register a version, or leave the version out';
  if (available.every((one) => semver.prerelease(one) !== null))
    return `there are pre-releases only, which are taken only when named: ask for ${best}, or release one`;
  return `ask for a version that is there, such as ${best}, leave it out, or list the range in compatible_versions of one that serves it`;
}

function isLeftOut(version: string, range: string): boolean {
  return (
    semver.prerelease(version) !== null &&
    !semver.satisfies(version, range) &&
    semver.satisfies(version, range, { includePrerelease: true })
  );
}

/** Distinct message types that some of these agents accept, as their descriptors list them. */
export function acceptedTypes(offers: readonly Offer[], typesOf: (offer: Offer) => readonly string[]): string[] {
  return [...new Set(offers.flatMap(typesOf))];
}

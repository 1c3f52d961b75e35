/** What a replay changes, made ready once for all decisions. */
import { replayChangesSchema, type BreakerChanges, type ReplayChanges } from '../../protocol/decision-log';
import { descriptorSchema, type Descriptor } from '../../protocol/descriptor';
import type { LoggedDecision, OfferFacts } from '../../protocol/logged-decision';
import { ReachError } from '../../protocol/reach-error';
import { routeTable, type RouteEntry, type RouteTable } from '../../protocol/route-table';
import { parseRoutes } from '../../protocol/route-table-schema';
import type { ScoreFactors } from '../../protocol/shapes';
import { validate } from '../../protocol/validation';
import { AbilityIndex, type Offer } from '../ability-index';
import { effectiveWeights } from '../score';
import { DEFAULT_ROUTER_CONFIG } from '../types';
import { isMeant, offerKey } from './circumstances';
import { textIdOf } from './inputs';

/** Registered when nobody knows: after all others, as whoever is new is. */
const NEW_SINCE = '9999-12-31T23:59:59.999Z';

/** Changes as a replay works with them. */
export interface PreparedChanges {
  asked: ReplayChanges;
  breakers: BreakerChanges;
  routes: RouteTable | undefined;
  /** The abilities of the descriptors that are tried instead; null: everybody stays. */
  offers: ReadonlyMap<string, Offer> | null;
  index: AbilityIndex | null;
}

/**
 * Reads changes.
 * @throws ReachError `invalid_request` with pointers below `/changes`; `weights_invalid` when no weight is above 0, be it of factors or of routes
 */
export function prepareChanges(document: unknown): PreparedChanges {
  const asked = validate(replayChangesSchema, document, { what: 'the changes' });
  weightsFor({ semantic_similarity: 0, latency_score: 0, reliability_score: 0 }, asked, { onlyCheck: true });
  const index = asked.agents ? indexOf(asked.agents) : null;
  const offers = index && new Map(index.all.offers.map((offer) => [keyOf(offer), offer]));
  const routes = asked.routes && routeTable(routesOf(asked.routes), { etag: 'replayed' });
  return { asked, breakers: asked.breakers ?? {}, routes, offers, index };
}

/** A table that could not be written is not tried either: it would answer what can never be. */
function routesOf(routes: NonNullable<ReplayChanges['routes']>): RouteEntry[] {
  try {
    return parseRoutes({ routes });
  } catch (caught) {
    const { code, message, options } = ReachError.from(caught);
    const errors = options.errors?.map((one) => ({ ...one, pointer: `/changes${one.pointer}` }));
    throw new ReachError(code, `the routes to try cannot be: ${message}`, { errors });
  }
}

function indexOf(documents: NonNullable<ReplayChanges['agents']>): AbilityIndex {
  const descriptors = documents.map((document, i) => descriptorAt(document, i));
  const agents = descriptors.map((descriptor) => ({
    name: descriptor.name,
    version: descriptor.version,
    descriptor,
    registered_at: NEW_SINCE,
    instances: [],
  }));
  return new AbilityIndex(agents);
}

function descriptorAt(document: unknown, position: number): Descriptor {
  const parsed = descriptorSchema.safeParse(document);
  if (parsed.success) return parsed.data;
  try {
    return validate(descriptorSchema, document, { what: 'the descriptor' });
  } catch (caught) {
    const { message, options } = ReachError.from(caught);
    const errors = options.errors?.map((one) => ({ ...one, pointer: `/changes/agents/${position}${one.pointer}` }));
    throw new ReachError('invalid_request', `agent ${position + 1}: ${message}`, { errors });
  }
}

const keyOf = ({ agentName, agentVersion, capability }: Offer) => offerKey(agentName, agentVersion, capability.name);

/** The weights of a decision with those changed that are, scaled to sum to 1 again (R17). */
export function weightsFor(
  recorded: ScoreFactors,
  { weights }: ReplayChanges,
  { onlyCheck = false }: { onlyCheck?: boolean } = {},
): ScoreFactors {
  if (!weights) return recorded;
  // Nothing is known yet of the decisions: that they had some weight is enough.
  const base = onlyCheck && Object.keys(weights).length < 3 ? DEFAULT_ROUTER_CONFIG.weights : recorded;
  const { enabledFactors } = DEFAULT_ROUTER_CONFIG;
  return effectiveWeights({ weights: { ...base, ...weights }, enabledFactors });
}

/** The offers of a decision when the agents are others: who is gone is left out, who is new is a newcomer. */
export function offersNow({ inputs }: LoggedDecision, changes: PreparedChanges): OfferFacts[] {
  const { without = [] } = changes.asked;
  const { offers = [], request } = inputs ?? {};
  const staying = offers.filter((facts) => !without.some((ref) => isMeant(ref, facts)));
  if (!changes.offers || !request) return staying;
  const kept = staying.flatMap((facts) => {
    const offer = changes.offers!.get(offerKey(facts.agent_name, facts.agent_version, facts.ability));
    return offer && accepts(offer, changes, request.type) ? [asDescribed(facts, offer, changes)] : [];
  });
  const known = new Set(offers.map((one) => offerKey(one.agent_name, one.agent_version, one.ability)));
  const newcomers = [...changes.offers].flatMap(([key, offer]) =>
    !known.has(key) && isAskedFor(offer, request) && accepts(offer, changes, request.type)
      ? [newcomer(offer, changes)]
      : [],
  );
  return [...kept, ...newcomers];
}

/** What it says about itself may have changed, and then it was not compared with the text. */
function asDescribed(facts: OfferFacts, offer: Offer, { index }: PreparedChanges): OfferFacts {
  const { compatible_versions } = index!.agentOf(offer).descriptor;
  const text_id = textIdOf(offer.text);
  const { match, ...rest } = facts;
  return { ...rest, compatible_versions, text_id, ...(text_id === facts.text_id && match && { match }) };
}

function newcomer(offer: Offer, { index }: PreparedChanges): OfferFacts {
  return {
    agent_name: offer.agentName,
    agent_version: offer.agentVersion,
    ability: offer.capability.name,
    compatible_versions: index!.agentOf(offer).descriptor.compatible_versions,
    registered_at: NEW_SINCE,
    text_id: textIdOf(offer.text),
    held_by: 'absence',
    was_ready: true,
  };
}

function accepts(offer: Offer, { index }: PreparedChanges, type: string): boolean {
  return index!.agentOf(offer).descriptor.accepted_message_types.includes(type);
}

function isAskedFor(
  { capability, agentName }: Offer,
  { ability, target_agent }: NonNullable<LoggedDecision['inputs']>['request'],
): boolean {
  const named = ability === undefined || ability === '*' || ability === capability.name;
  return named && (target_agent === undefined || target_agent.split('#')[0] === agentName);
}

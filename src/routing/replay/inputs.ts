/** What a decision depended on, gathered from the choice itself. Everything is copied: what is looked up may change. */
import { createHash } from 'node:crypto';
import type {
  DecisionInputs,
  DecisionRequest,
  MatchFacts,
  MeasuredThen,
  OfferFacts,
} from '../../protocol/logged-decision';
import { routingText } from '../../protocol/json-schema';
import type { AbilityText, Match, Matcher } from '../../protocol/matching';
import type { AbilityStats, World } from '../../protocol/world';
import type { AbilityIndex, Offer } from '../ability-index';
import type { RecordContext } from '../decision';
import type { Scoring } from '../candidates';
import type { Chosen, Outcome } from '../outcome';
import type { Stage } from '../sieve';
import type { RouterConfig } from '../types';
import { stickyHash } from '../versions';

/** Candidates that are kept whole; of more, the best, those near them and those with the greatest factors. */
const MAX_KEPT_OFFERS = 64;
/** Of those who were kept out by the moment. */
const MAX_KEPT_HELD = 32;
/** Filters that no change of weights, breakers, routes or agents lets anybody pass. */
const OF_THE_REQUEST: ReadonlySet<Stage> = new Set<Stage>(['message_type', 'version', 'schema', 'ancestor']);

const FACTORS = ['semantic_similarity', 'latency_score', 'reliability_score'] as const;

/** What the inputs of a decision are gathered from besides the outcome. */
export interface InputsContext extends RecordContext {
  config: RouterConfig;
  matcher: Matcher;
  index: AbilityIndex;
  world: Pick<World, 'routes' | 'degraded'>;
}

/** The offers that are kept. */
export interface KeptOffers {
  fitting: readonly Offer[];
  held: readonly { offer: Offer; stage: Stage | 'not_near' }[];
}

/** Which offers are kept. */
export function keptOffers(outcome: Outcome, { config }: InputsContext): KeptOffers {
  const fitting = outcome.kind === 'chosen' ? keptOfThoseWhoFit(outcome, config.exploration.band) : [];
  const chosenAgent = outcome.kind === 'chosen' ? outcome.chosen.offer.agentName : null;
  const known = new Set(fitting);
  const held = outcome.refusals.filter(({ stage, offer }) => !OF_THE_REQUEST.has(stage) && !known.has(offer));
  // The other versions of the chosen agent first: they decide which version a route names.
  const own = held.filter(({ offer }) => offer.agentName === chosenAgent);
  const others = held.filter(({ offer }) => offer.agentName !== chosenAgent);
  const kept = { fitting, held: [...own, ...others].slice(0, MAX_KEPT_HELD) };
  return withFamilies(kept, outcome);
}

/** An agent's versions stand in for each other: who is kept is kept with all of its own that might have been chosen. */
function withFamilies({ fitting, held }: KeptOffers, { sieve }: Outcome): KeptOffers {
  const known = new Set([...fitting, ...held.map(({ offer }) => offer)]);
  const missing: KeptOffers['held'][number][] = [];
  for (const { siblings } of [...known]) {
    for (const offer of siblings ?? []) {
      const stage = known.has(offer) || sieve === null ? null : (sieve.refusal(offer) ?? 'not_near');
      if (stage !== null && !OF_THE_REQUEST.has(stage as Stage)) missing.push({ offer, stage });
      known.add(offer);
    }
  }
  return { fitting, held: [...held, ...missing] };
}

/** All of them; of very many the best, the chosen one, those within the band, and whoever is greatest by a factor. */
function keptOfThoseWhoFit({ scoring, best, chosen }: Chosen, band: number): readonly Offer[] {
  const { offers } = scoring;
  if (offers.length <= MAX_KEPT_OFFERS) return offers.includes(chosen.offer) ? offers : [...offers, chosen.offer];
  const kept = new Set([...best.map(({ offer }) => offer), chosen.offer]);
  for (const position of scoring.extremes()) kept.add(offers[position]!);
  const rest = [...scoring.rivals(band).near, ...scoring.top(MAX_KEPT_OFFERS)];
  for (const position of rest) if (kept.size < MAX_KEPT_OFFERS) kept.add(offers[position]!);
  return [...kept].sort((a, b) => a.position - b.position);
}

/** The inputs of a decision. */
export function inputsOf(outcome: Outcome, kept: KeptOffers, context: InputsContext): DecisionInputs {
  const { config, world } = context;
  const text = textOf(kept, context);
  const offers = [...kept.fitting, ...kept.held.map(({ offer }) => offer)];
  return {
    request: requestOf(context),
    ...(text.trim() !== '' && { text, text_sha256: createHash('sha256').update(text).digest('hex') }),
    strategy: strategyOf(outcome, config),
    exploration: { ...config.exploration },
    open_match: { ...config.openMatch },
    ...routesOf(offers, context),
    offers: [
      ...kept.fitting.map((offer) => factsOf(offer, outcome, context)),
      ...kept.held.map(({ offer, stage }) => ({ ...factsOf(offer, outcome, context), held_by: stage })),
    ],
    newcomer_p50_ms: 0,
    ...(outcome.kind === 'chosen' && choiceOf(outcome, kept)),
    ...(outcome.eager && { patient: true as const }),
    ...(world.degraded && { degraded: true as const }),
  };
}

function requestOf({ request }: InputsContext): DecisionRequest {
  const { ability, target_agent, type, version, group, mode, exclude } = request;
  return { ability, target_agent, type, version, group, mode, ...(exclude && exclude.length > 0 && { exclude }) };
}

function choiceOf({ scoring, strategy, chosen }: Chosen, { fitting }: KeptOffers): Partial<DecisionInputs> {
  const unrecorded = unrecordedOf(scoring, new Set(fitting));
  const byPosition = strategy === 'round_robin' || strategy === 'random';
  return {
    ...(unrecorded && { unrecorded }),
    newcomer_p50_ms: scoring.priorP50Ms,
    ...(byPosition && { position: positionOf(scoring, chosen.offer) }),
  };
}

/** The version that takes the call may be another than the one that its agent was drawn by. */
function positionOf({ offers }: Scoring, { agentName, capability }: Offer): number {
  const ofAgent = (offer: Offer) => offer.agentName === agentName && offer.capability.name === capability.name;
  return Math.max(0, offers.findIndex(ofAgent));
}

function unrecordedOf(scoring: Scoring, kept: ReadonlySet<Offer>): DecisionInputs['unrecorded'] {
  const greatest = { semantic_similarity: 0, latency_score: 0, reliability_score: 0 };
  let [count, best] = [0, 0];
  scoring.offers.forEach((offer, position) => {
    if (kept.has(offer)) return;
    const { factors, score } = scoring.at(position);
    count += 1;
    best = Math.max(best, score);
    for (const factor of FACTORS) greatest[factor] = Math.max(greatest[factor], factors[factor]);
  });
  return count === 0 ? undefined : { count, score: best, factors: greatest };
}

function strategyOf(outcome: Outcome, config: RouterConfig): DecisionInputs['strategy'] {
  const strategy = outcome.kind === 'chosen' ? outcome.strategy : null;
  if (strategy === 'score_based' || strategy === 'round_robin' || strategy === 'random') return strategy;
  return config.defaultStrategy;
}

function textOf({ fitting, held }: KeptOffers, { request }: InputsContext): string {
  const offer = fitting[0] ?? held[0]?.offer;
  return routingText(offer?.schema.marksText ? offer.schema.document : undefined, request.payload);
}

/** Routes and sticky hashes, where agents have several versions or routes list them. */
function routesOf(
  offers: readonly Offer[],
  { world, request }: InputsContext,
): Pick<DecisionInputs, 'routes' | 'former_routes' | 'sticky'> {
  const { routes } = world;
  const { group, sticky_key } = request;
  const listed: NonNullable<DecisionInputs['routes']> = [];
  const former: NonNullable<DecisionInputs['former_routes']> = [];
  const sticky: Record<string, string> = {};
  const seen = new Set<string>();
  for (const { agentName, capability, siblings } of offers) {
    const where = { ability: capability.name, from: group };
    const entries = routes?.listed(capability.name, group, agentName) ?? [];
    if (siblings === null && entries.length === 0) continue;
    if (sticky_key !== undefined) sticky[agentName] = stickyHash(agentName, sticky_key);
    if (seen.size === seen.add(`${agentName}/${capability.name}`).size) continue;
    for (const { version, weight } of entries) listed.push({ ...where, to: `${agentName}#${version}`, weight });
    const stable = routes?.lastStable(capability.name, group, agentName);
    if (stable !== undefined) former.push({ ...where, to: `${agentName}#${stable}` });
  }
  return {
    ...(listed.length > 0 && { routes: listed }),
    ...(former.length > 0 && { former_routes: former }),
    ...(sticky_key !== undefined && { sticky }),
  };
}

function factsOf(offer: Offer, outcome: Outcome, { stats: lookup, index }: InputsContext): OfferFacts {
  const { agentName, agentVersion, capability, text } = offer;
  const stats = lookup.ability(agentName, agentVersion, capability.name);
  const wasReady = outcome.eager !== undefined && outcome.eager.ownRefusal(offer) !== 'readiness';
  const admission = (wasReady ? outcome.eager : outcome.sieve)?.admission(offer) ?? null;
  const match = outcome.kind === 'chosen' ? outcome.scoring.matchOf(offer) : null;
  const { descriptor, registered_at, first_registered_at } = index.agentOf(offer);
  const { compatible_versions } = descriptor;
  return {
    agent_name: agentName,
    agent_version: agentVersion,
    ability: capability.name,
    ...(compatible_versions.length > 0 && { compatible_versions }),
    registered_at: first_registered_at ?? registered_at,
    text_id: textIdOf(text),
    ...(wasReady && { was_ready: true as const }),
    ...(match && { match: matchFacts(match) }),
    ...(stats && { stats: measured(stats) }),
    ...(admission && {
      breaker: { share: admission.gate.share, mark: admission.gate.mark, passed: admission.passes },
    }),
  };
}

function measured({ requests, failures, evidence, p50_ms }: AbilityStats): MeasuredThen {
  return { requests, failures, ...(evidence && { evidence: { ...evidence } }), p50_ms };
}

/** A comparison as plain numbers; dense matches compute theirs when asked. */
export function matchFacts({ cosine, closeness, fit, by, degraded }: Match): MatchFacts {
  return { cosine, closeness, fit, by, ...(degraded && { degraded: true as const }) };
}

const textIds = new WeakMap<AbilityText, string>();

/** A short name for what an ability says about itself; the same texts have the same. */
export function textIdOf(text: AbilityText): string {
  let id = textIds.get(text);
  if (id === undefined) {
    id = createHash('sha256').update(text.key).digest('base64url').slice(0, 16);
    textIds.set(text, id);
  }
  return id;
}

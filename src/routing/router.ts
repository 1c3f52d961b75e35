import { randomUUID } from 'node:crypto';
import type { Matcher } from '../protocol/matching';
import type { Decision, InstanceState } from '../protocol/shapes';
import type { World } from '../protocol/world';
import { IndexCache, type AbilityIndex, type Offer } from './ability-index';
import { Chooser } from './chooser';
import { toDecision, toExplanation, toFailedExplanation, type RecordContext } from './decision';
import { instanceWeight, pickWeighted } from './instances';
import type { Outcome } from './outcome';
import { isReady } from './readiness';
import { scopeOf } from './scope';
import { effectiveWeights, requireWeights } from './score';
import { searchByMeaning } from './search';
import { Sieve } from './sieve';
import type { AbilityHit, RouteExplanation, RouterConfig, RouteRequest } from './types';

export interface RouterDeps {
  /** The registry's view at this moment: a snapshot that does not change under the router. */
  world: () => World;
  matcher: Matcher;
  config: RouterConfig;
  /** In [0, 1). Default Math.random. */
  random?: () => number;
  /** Wall clock of the record. */
  now?: () => Date;
  /** Ids of decisions. Default UUIDs. */
  newId?: () => string;
}

/** Chooses an agent for a request: filter → score → choose → explain (R16–R20, R22). Does no I/O of its own. */
export class Router {
  private readonly deps: Required<RouterDeps>;
  private readonly indexes = new IndexCache();
  private readonly chooser: Chooser;
  private readonly weights: ReturnType<typeof effectiveWeights>;

  /** @throws ReachError `weights_invalid` */
  constructor(deps: RouterDeps) {
    this.deps = {
      ...deps,
      random: deps.random ?? Math.random,
      now: deps.now ?? (() => new Date()),
      newId: deps.newId ?? randomUUID,
    };
    const { matcher, config } = deps;
    this.weights = effectiveWeights(config);
    requireWeights('router.instance_weights', { ...config.instanceWeights });
    this.chooser = new Chooser({ matcher, config, weights: this.weights, random: this.deps.random });
  }

  /** Computes the vectors of all abilities ahead of time; call it at start and whenever the registry changes. */
  async warm(): Promise<void> {
    await this.deps.matcher.prepare(this.index().all.texts);
  }

  /**
   * Decides who takes a request.
   * @throws ReachError `ability_not_found`, `agent_not_found`, `version_not_found`, `message_type_not_accepted`,
   *   `payload_schema_mismatch` (with `errors`), `no_ready_instance`, `all_instances_unavailable` (with
   *   `retryAfterMs`), each with a `diagnosis`; `invalid_request` for what cannot be understood
   */
  async route(request: RouteRequest): Promise<Decision> {
    const { outcome, context } = await this.choose(request);
    if (outcome.kind === 'refused') throw outcome.error;
    this.chooser.advance(outcome);
    return toDecision(outcome, context);
  }

  /**
   * The dry run of {@link route}: nobody's turn is used up, and that nobody fits is an answer.
   * @throws ReachError `invalid_request` only
   */
  async explain(request: RouteRequest): Promise<RouteExplanation> {
    const { outcome, context } = await this.choose(request);
    return outcome.kind === 'refused'
      ? toFailedExplanation(outcome, context)
      : toExplanation(toDecision(outcome, context), this.weights);
  }

  /** Whether a decision made elsewhere stands: the chosen version is registered, fits the request and is ready. */
  stillGood(
    decision: { chosen: Pick<Decision['chosen'], 'agent_name' | 'agent_version' | 'ability'> },
    request: RouteRequest,
  ): boolean {
    const index = this.index();
    const { agent_name, agent_version, ability } = decision.chosen;
    const offer = findOffer(index, { agent_name, agent_version, ability });
    return offer !== null && new Sieve(index, scopeOf(request), request, true).ownRefusal(offer) === null;
  }

  /**
   * An instance to call, by load-weighted chance (R18). Null when no ready one has an address; agents that pull have
   * none. `exclude` are instance ids.
   */
  pickInstance(agentName: string, agentVersion: string, ability: string, exclude: string[] = []): InstanceState | null {
    const { stats } = this.deps.world();
    const index = this.index();
    const offer = findOffer(index, { agent_name: agentName, agent_version: agentVersion, ability });
    if (!offer) return null;
    const { instances } = index.agentOf(offer);
    const callable = instances.filter((i) => isReady(i) && i.host !== null && !exclude.includes(i.instance_id));
    const statsOf = ({ instance_id }: InstanceState) => stats.instance(agentName, instance_id);
    const weightOf = (instance: InstanceState) => instanceWeight(instance, statsOf, this.deps.config.instanceWeights);
    return pickWeighted(callable, weightOf, this.deps.random);
  }

  /**
   * Abilities by meaning, best first; readiness does not matter.
   * @throws ReachError `invalid_request` for a blank query
   */
  searchAbilities(query: string, limit = 10): Promise<AbilityHit[]> {
    return searchByMeaning(this.index(), this.deps.matcher, { query, limit });
  }

  private index(): AbilityIndex {
    return this.indexes.of(this.deps.world());
  }

  private async choose(request: RouteRequest): Promise<{ outcome: Outcome; context: RecordContext }> {
    const world = this.deps.world();
    const outcome = await this.chooser.choose(this.indexes.of(world), world.stats, request);
    const { instanceWeights } = this.deps.config;
    const recorded = { decisionId: this.deps.newId(), at: this.deps.now() };
    return { outcome, context: { request, stats: world.stats, weights: this.weights, instanceWeights, ...recorded } };
  }
}

function findOffer(
  index: AbilityIndex,
  wanted: { agent_name: string; agent_version: string; ability: string },
): Offer | null {
  const offers = index.agent(wanted.agent_name)?.offers ?? [];
  const same = (offer: Offer) =>
    offer.agentVersion === wanted.agent_version && offer.capability.name === wanted.ability;
  return offers.find(same) ?? null;
}

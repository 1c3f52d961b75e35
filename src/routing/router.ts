import { randomUUID } from 'node:crypto';
import type { AbilityText, Matcher } from '../protocol/matching';
import type { AdmissionMark } from '../protocol/reliability';
import type { RouteExplanation } from '../protocol/route-explanation';
import type { Decision, InstanceState, NearAbility } from '../protocol/shapes';
import type { World } from '../protocol/world';
import { IndexCache, type AbilityIndex, type Offer } from './ability-index';
import { stillPasses } from './admissions';
import { Chooser } from './chooser';
import { toDecision, toExplanation, toFailedExplanation, type RecordContext } from './decision';
import { instanceWeight, pickWeighted } from './instances';
import type { Outcome } from './outcome';
import { isFullBy, isReadyOrQueues } from './readiness';
import { recordingOf, type Recording, type RecordingContext } from './replay/recording';
import { groupIn, scopeOf } from './scope';
import { effectiveWeights, requireWeights } from './score';
import { searchByMeaning } from './search';
import { Sieve } from './sieve';
import type { RouterConfig, RouteRequest } from './types';

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
  /** Keeps what is decided. Default: nobody does. */
  recorder?: DecisionRecorder;
}

/** Keeps what routers decide (R23). Neither call may throw, nor take long. */
export interface DecisionRecorder {
  /** Names this process in the records. */
  readonly madeBy: string;
  /** Whether this decision is kept: a sample may do. */
  wants(decisionId: string): boolean;
  keep(recording: Recording): void;
  /** A decision could not be recorded: a bug, which must not fail a request. */
  lost(error: unknown): void;
}

/** What a decision is made for. */
export interface DecisionOccasion {
  reachId?: string;
  /** A refusal names its decision in its problem document. Default false. */
  tellsCaller?: boolean;
  /** A refusal is not kept, as somebody asks again and again until there is none. Default false. */
  refusalIsNoNews?: boolean;
}

/** A decision as {@link Router.stillGood} looks at it. */
export interface StandingDecision {
  chosen: Pick<Decision['chosen'], 'agent_name' | 'agent_version' | 'ability'> & { admission?: AdmissionMark };
}

export interface PickOptions {
  /** Instance ids that are passed over. */
  exclude?: readonly string[];
  /** Which instances have no place free, where the caller knows better than the live count. */
  isFull?: (instance: InstanceState) => boolean;
}

/** Chooses an agent for a request: filter → score → choose → explain (R16–R20, R22). Does no I/O of its own. */
export class Router {
  private readonly deps: Required<Omit<RouterDeps, 'recorder'>> & Pick<RouterDeps, 'recorder'>;
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
    const { random, now } = this.deps;
    this.chooser = new Chooser({ matcher, config, weights: this.weights, random, now });
  }

  /** Computes the vectors of all abilities ahead of time; call it at start and whenever the registry changes. */
  async warm(): Promise<void> {
    await this.deps.matcher.prepare(this.index().all.texts);
  }

  /**
   * Decides who takes a request. A breaker that lets a share pass is rolled here, once; `chosen.admission` says so.
   * @throws ReachError `ability_not_found`, `agent_not_found`, `version_not_found`, `message_type_not_accepted`,
   *   `payload_schema_mismatch` (with `errors`), `no_ready_instance`, `all_instances_unavailable`, `circuit_open`,
   *   `degraded_mode` (with `retryAfterMs`), each with a `diagnosis`; `invalid_request` for what cannot be understood
   */
  async route(request: RouteRequest, occasion: DecisionOccasion = {}): Promise<Decision> {
    const { outcome, context } = await this.choose(request, false);
    if (outcome.kind === 'refused') {
      const { decisionId: decision_id } = context;
      const kept = this.record(outcome, context, occasion);
      throw kept && occasion.tellsCaller ? outcome.error.with({ decision_id }) : outcome.error;
    }
    const decision = toDecision(outcome, context);
    this.record(outcome, { ...context, decision }, occasion);
    this.chooser.advance(outcome);
    if (decision.chosen.admission) this.deps.world().breakers?.admitted?.(outcome.chosen.offer.breakerKey);
    return decision;
  }

  /**
   * The dry run of {@link route}: nobody's turn is used up, no breaker is rolled (whoever might pass is a candidate,
   * and the reason says with which share), and that nobody fits is an answer.
   * @throws ReachError `invalid_request` only
   */
  async explain(request: RouteRequest): Promise<RouteExplanation> {
    const { outcome, context } = await this.choose(request, true);
    return outcome.kind === 'refused'
      ? toFailedExplanation(outcome, context)
      : toExplanation(toDecision(outcome, context), this.weights);
  }

  /**
   * Whether a decision made elsewhere stands: the chosen version is registered, fits the request, is ready, and passes
   * its breaker: one marked with an `admission` while the breaker lets anything pass, any other while it is closed.
   * One that is full of this platform's own calls will do as long as nobody else who offers the ability has room.
   */
  stillGood(decision: StandingDecision, request: RouteRequest): boolean {
    const world = this.deps.world();
    const index = this.indexes.of(world);
    const { agent_name, agent_version, ability, admission } = decision.chosen;
    const offer = findOffer(index, { agent_name, agent_version, ability });
    if (offer === null) return false;
    const scope = scopeOf(request);
    const sieveOf = (mayQueue: boolean) =>
      new Sieve(index, scope, request, { mustBeReady: true, mayQueue, routes: world.routes });
    const passes = ({ breakerKey }: Offer, mark?: AdmissionMark) =>
      !world.breakers || stillPasses(world.breakers.gate(breakerKey), mark);
    if (!passes(offer, admission)) return false;
    const sieve = sieveOf(false);
    const refusal = sieve.ownRefusal(offer);
    if (refusal !== 'readiness') return refusal === null;
    if (sieveOf(true).ownRefusal(offer) !== null) return false;
    // Of an open request others are no rivals for offering an ability of the same name.
    if (scope.ability === undefined) return true;
    return !groupIn(index, scope).offers.some((other) => sieve.fits(other) && passes(other));
  }

  /**
   * An instance to call, by load-weighted chance (R18). Null when no ready one has an address (agents that pull have
   * none) and a place free: by what the registry says, by the live count of calls in flight, and by `isFull`.
   */
  pickInstance(
    agentName: string,
    agentVersion: string,
    ability: string,
    { exclude = [], isFull }: PickOptions = {},
  ): InstanceState | null {
    const { stats } = this.deps.world();
    const index = this.index();
    const offer = findOffer(index, { agent_name: agentName, agent_version: agentVersion, ability });
    if (!offer) return null;
    const statsOf = ({ instance_id }: InstanceState) => stats.instance(agentName, instance_id);
    const hasNoPlace = isFull ?? ((instance: InstanceState) => isFullBy(statsOf(instance)?.in_flight, instance));
    const { instances } = index.agentOf(offer);
    const callable = instances.filter((instance) => isCallable(instance, exclude) && !hasNoPlace(instance));
    const weightOf = (instance: InstanceState) => instanceWeight(instance, statsOf, this.deps.config.instanceWeights);
    return pickWeighted(callable, weightOf, this.deps.random);
  }

  /**
   * Abilities by meaning, best first; readiness does not matter.
   * @throws ReachError `invalid_request` for a blank query
   */
  searchAbilities(query: string, limit = 10): Promise<NearAbility[]> {
    return searchByMeaning(this.index(), this.deps.matcher, { query, limit });
  }

  /** What all abilities say about themselves now, each once. */
  texts(): readonly AbilityText[] {
    return this.index().all.texts;
  }

  private index(): AbilityIndex {
    return this.indexes.of(this.deps.world());
  }

  /** Answers whether it is kept. */
  private record(
    outcome: Outcome,
    context: MadeContext & Pick<RecordingContext, 'decision'>,
    { reachId, refusalIsNoNews }: DecisionOccasion,
  ): boolean {
    const { recorder, config, matcher } = this.deps;
    if (!recorder?.wants(context.decisionId) || (refusalIsNoNews && outcome.kind === 'refused')) return false;
    try {
      recorder.keep(recordingOf(outcome, { ...context, config, matcher, madeBy: recorder.madeBy, reachId }));
      return true;
    } catch (bug) {
      recorder.lost(bug);
      return false;
    }
  }

  private async choose(request: RouteRequest, dryRun: boolean): Promise<{ outcome: Outcome; context: MadeContext }> {
    const world = this.deps.world();
    const index = this.indexes.of(world);
    const outcome = await this.chooser.choose({ index, world, request, dryRun });
    const { instanceWeights } = this.deps.config;
    const recorded = { decisionId: this.deps.newId(), at: this.deps.now() };
    const { stats } = world;
    const context = { request, stats, weights: this.weights, instanceWeights, world, index, ...recorded };
    return { outcome, context };
  }
}

/** The circumstances of a decision, for its records. */
type MadeContext = RecordContext & Pick<RecordingContext, 'world' | 'index'>;

function findOffer(
  index: AbilityIndex,
  wanted: { agent_name: string; agent_version: string; ability: string },
): Offer | null {
  const offers = index.agent(wanted.agent_name)?.offers ?? [];
  const same = (offer: Offer) =>
    offer.agentVersion === wanted.agent_version && offer.capability.name === wanted.ability;
  return offers.find(same) ?? null;
}

function isCallable(instance: InstanceState, exclude: readonly string[]): boolean {
  return isReadyOrQueues(instance) && instance.host !== null && !exclude.includes(instance.instance_id);
}

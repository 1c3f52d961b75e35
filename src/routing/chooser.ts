import type { Match, Matcher } from '../protocol/matching';
import { ReachError } from '../protocol/reach-error';
import type { World } from '../protocol/world';
import { compareText, type AbilityIndex, type Offer, type OfferGroup } from './ability-index';
import { annotated, notReadyYet, queuesFor } from './annotations';
import { Admissions, mightPass, rolling } from './admissions';
import { Scoring, type ScoredOffer } from './candidates';
import { hitsOf } from './certainty';
import { compareByMeaning, type Matches } from './comparison';
import type { Chosen, Outcome } from './outcome';
import { inDoubt, keptFromIt, offTopic } from './open-match';
import { hasReadyOrQueueing } from './readiness';
import { nobodyFits, nothingToCompare, type Refusal } from './refusals';
import { applyingRules } from './rules';
import { ANY_ABILITY, groupIn, scopeOf, type Scope } from './scope';
import { chooseByScore } from './score-choice';
import { Sieve } from './sieve';
import { Turns } from './turns';
import type { ChoiceStrategy, FactorName, RouterConfig, RouteRequest } from './types';
import { pinnedBy, replaced, versioned } from './versions/versioned';

/** Abilities that are scored when a request leaves the ability open. */
const OPEN_LIMIT = 32;

const NO_MATCHES: Matches = new Map<Offer, Match>();

export interface ChooserDeps {
  matcher: Matcher;
  config: RouterConfig;
  weights: Record<FactorName, number>;
  random: () => number;
  /** Wall clock: ejections end at a time of day. */
  now: () => Date;
  /** Whose turn it is; a replay brings what was recorded. */
  turns?: Pick<Turns, 'current' | 'advance'>;
  /** Draws versions where there is no sticky key, in [0, 1). Default `random`; a replay tells them apart. */
  versionRandom?: () => number;
}

/** What a choice is made of. */
export interface ChoiceInput {
  index: AbilityIndex;
  world: World;
  request: RouteRequest;
  /** Nothing is rolled: whoever might pass its breaker counts as passing. */
  dryRun: boolean;
}

/** All that one choice works with. */
interface Task extends ChoiceInput {
  scope: Scope;
  group: OfferGroup;
  sieve: Sieve;
  now: () => Date;
  /** Nobody is ready, and it waits for whom it is given to. */
  patient?: boolean;
}

/** Chooses among the offers that a request names and that pass the filters. */
export class Chooser {
  private readonly turns: Pick<Turns, 'current' | 'advance'>;
  private readonly versionRandom: () => number;

  constructor(private readonly deps: ChooserDeps) {
    this.turns = deps.turns ?? new Turns();
    this.versionRandom = deps.versionRandom ?? deps.random;
  }

  /** @throws ReachError `invalid_request` only; that nobody fits is an outcome. */
  async choose(input: ChoiceInput): Promise<Outcome> {
    const { index, world, request } = input;
    const scope = scopeOf(request);
    let group: OfferGroup;
    try {
      group = groupIn(index, scope);
    } catch (caught) {
      return { kind: 'refused', error: ReachError.from(caught), sieve: null, refusals: [] };
    }
    const task = { ...input, scope, group, now: this.deps.now };
    const { routes } = world;
    const eager = { mustBeReady: true, admissions: this.admissions(input), routes };
    const sieve = new Sieve(index, scope, request, eager);
    const outcome = await this.among({ ...task, sieve });
    if (outcome.kind === 'chosen') return annotated(versioned(outcome, this.versionRandom), input);
    if (outcome.refusals.some(isForRoomOnly(index))) {
      // Nobody has room: it may queue at one that is full of this platform's own calls.
      const queueing = await this.among({
        ...task,
        sieve: new Sieve(index, scope, request, { ...eager, mayQueue: true }),
      });
      if (queueing.kind === 'chosen')
        return annotated(queuesFor(versioned(queueing, this.versionRandom), sieve), input);
    }
    // In degraded mode nothing waits for health (R24).
    if (request.mode === 'sync' || world.degraded) return outcome;
    // A durable hand-over waits for its agent, so neither readiness nor breakers count.
    const waiting = new Sieve(index, scope, request, { mustBeReady: false, routes });
    const patient = await this.among({ ...task, sieve: waiting, patient: true });
    const told = patient.kind === 'chosen' ? notReadyYet(versioned(patient, this.versionRandom), sieve) : patient;
    return { ...told, eager: sieve };
  }

  private admissions({ index, world, dryRun }: ChoiceInput): Admissions | undefined {
    if (!world.breakers) return undefined;
    const passage = dryRun ? mightPass : rolling(this.deps.random);
    return new Admissions(world.breakers, passage, index.all.offers.length);
  }

  /** Uses up the turn that a round-robin choice took. */
  advance(outcome: Chosen): void {
    if (outcome.strategy === 'round_robin') this.turns.advance(outcome.chosen.offer.capability.name);
  }

  private among(task: Task): Promise<Outcome> {
    const { request, scope, group } = task;
    const open = request.ability === ANY_ABILITY || (scope.ability === undefined && hasSeveralAbilities(group));
    return open ? this.amongAll(task) : this.amongNamed(task);
  }

  /** The ability is known: every offer of it is filtered and scored. */
  private async amongNamed(task: Task): Promise<Outcome> {
    const { fitting, refusals } = sift(task.group.offers, task.sieve);
    if (fitting.length === 0) return refused(nobodyFits({ ...task, refusals }), task, refusals);
    const byRule = this.byRule(task, fitting, refusals);
    if (byRule.outcome) return byRule.outcome;
    const strategy = this.strategyOf(task);
    const { matches, failure } = await this.compare(task, fitting, strategy);
    const scoring = this.score(task, fitting, matches);
    const effective = failure === null ? strategy : this.deps.config.fallbackStrategy;
    const notes = [...byRule.notes, ...(failure === null ? [] : [failure])];
    return this.pick(task, { scoring, refusals, notes, strategy: effective });
  }

  /** In degraded mode the load is spread rather than aimed (R24); a named agent leaves nothing to spread. */
  private strategyOf({ scope, world }: Task): ChoiceStrategy {
    if (scope.agent !== undefined) return 'score_based';
    const { defaultStrategy, fallbackStrategy } = this.deps.config;
    return world.degraded ? fallbackStrategy : defaultStrategy;
  }

  /** Which ability is open: the nearest in meaning are scored, as far as they fit and have to do with the text. */
  private async amongAll(task: Task): Promise<Outcome> {
    const { request, sieve, group } = task;
    const { matcher, config } = this.deps;
    const anyAbility = request.ability === ANY_ABILITY;
    const limit = anyAbility ? OPEN_LIMIT : undefined;
    const matches = await compareByMeaning(group, { matcher, payload: request.payload, fits: () => true, limit });
    const { minFit } = config.openMatch;
    const onTopic = [...matches.keys()].filter((offer) => !anyAbility || matches.get(offer)!.fit >= minFit);
    const { fitting, refusals } = sift(onTopic, sieve);
    const meant = anyAbility ? keptFromIt({ matches, fitting, refusals }) : [];
    if (fitting.length === 0 || meant.length > 0) return this.nobodyOnTopic(task, matches, meant);
    const byRule = this.byRule(task, fitting, refusals, matches);
    if (byRule.outcome) return byRule.outcome;
    const doubt = anyAbility ? inDoubt(hitsOf(matches), config.openMatch) : null;
    if (doubt) return refused(doubt, task, refusals);
    const scoring = this.score(task, [...fitting].sort(inIndexOrder), matches);
    return this.pick(task, { scoring, refusals, notes: byRule.notes, strategy: 'score_based' });
  }

  /** Who is meant cannot take it now, and that is what the caller is told; else nothing fits, and it is told what is nearest. */
  private nobodyOnTopic(task: Task, matches: Matches, meant: readonly Refusal[]): Outcome {
    if (meant.length > 0) return refused(nobodyFits({ ...task, refusals: meant }), task, meant);
    if (matches.size === 0 || task.request.ability !== ANY_ABILITY) return nobodyCompared(task);
    return refused(offTopic(hitsOf(matches), this.deps.config.openMatch), task, []);
  }

  private score({ world, sieve }: Task, offers: readonly Offer[], matches: Matches): Scoring {
    const isMarked = world.breakers && ((offer: Offer) => sieve.admission(offer) !== null);
    return new Scoring(offers, {
      matches,
      stats: world.stats,
      weights: this.deps.weights,
      ...(isMarked && { isMarked }),
    });
  }

  /** Explicit rules come before scoring (R19), unless the caller has named the agent. */
  private byRule(
    task: Task,
    fitting: readonly Offer[],
    refusals: readonly Refusal[],
    matches: Matches = NO_MATCHES,
  ): { outcome?: Chosen; notes: string[] } {
    const notes: string[] = [];
    if (task.scope.agent !== undefined) return { notes };
    for (const rule of applyingRules(this.deps.config.rules, task.request)) {
      const position = fitting.findIndex(({ agentName }) => agentName === rule.agent);
      const named = position < 0 ? null : pinnedBy(rule, fitting[position]!, task.sieve);
      if (named !== null) {
        const scoring = this.score(task, fitting, matches);
        const chosen = scoring.at(position);
        const byName = toChosen(task, { scoring, chosen, strategy: 'rule', refusals, notes });
        const outcome = rule.version === undefined ? byName : { ...replaced(byName, named), pinned: true };
        return { outcome, notes };
      }
      notes.push(`rule ${rule.number} names ${rule.agent}, which cannot take this`);
    }
    return { notes };
  }

  /** Similarities where they can make a difference; without a choice to make nothing is embedded. */
  private async compare(
    task: Task,
    fitting: readonly Offer[],
    strategy: ChoiceStrategy,
  ): Promise<{ matches: Matches; failure: string | null }> {
    const alike = fitting.every((offer) => offer.text === fitting[0]!.text);
    const needless = alike || strategy !== 'score_based' || this.deps.weights.semantic_similarity === 0;
    if (needless) return { matches: NO_MATCHES, failure: null };
    const everybody = fitting === task.group.offers;
    const wanted = new Set(everybody ? [] : fitting);
    const fits = (offer: Offer) => everybody || wanted.has(offer);
    const options = { matcher: this.deps.matcher, payload: task.request.payload, fits };
    try {
      return { matches: await compareByMeaning(task.group, options), failure: null };
    } catch {
      return { matches: NO_MATCHES, failure: 'fallback strategy, texts could not be compared' };
    }
  }

  private pick(task: Task, input: Omit<ChosenParts, 'chosen' | 'strategy'> & { strategy: ChoiceStrategy }): Chosen {
    const { scoring, strategy } = input;
    const told = { ...input, strategy: task.scope.agent === undefined ? strategy : ('direct' as const) };
    if (strategy !== 'score_based') return toChosen(task, { ...told, chosen: this.byStrategy(strategy, scoring) });
    const { config, random } = this.deps;
    const byScore = chooseByScore(scoring, task, { exploration: config.exploration, random });
    return toChosen(task, { ...told, ...byScore });
  }

  private byStrategy(strategy: 'round_robin' | 'random', scoring: Scoring): ScoredOffer {
    const { offers } = scoring;
    if (strategy === 'random')
      return scoring.at(Math.min(offers.length - 1, Math.floor(this.deps.random() * offers.length)));
    return scoring.at(this.turns.current(offers[0]!.capability.name) % offers.length);
  }
}

interface ChosenParts {
  scoring: Scoring;
  chosen: ScoredOffer;
  strategy: Chosen['strategy'];
  exploration?: Chosen['exploration'];
  refusals: readonly Refusal[];
  notes: readonly string[];
}

function toChosen({ index, sieve }: Task, { scoring, ...parts }: ChosenParts): Chosen {
  return { kind: 'chosen', index, sieve, best: scoring.best, scoring, count: scoring.offers.length, ...parts };
}

/** By agent, then by ability. */
function inIndexOrder(a: Offer, b: Offer): number {
  return a.slot - b.slot || compareText(a.capability.name, b.capability.name);
}

function sift(offers: readonly Offer[], sieve: Sieve): { fitting: readonly Offer[]; refusals: Refusal[] } {
  const first = offers.findIndex((offer) => !sieve.fits(offer));
  if (first < 0) return { fitting: offers, refusals: [] }; // the common case copies nothing
  const fitting = offers.slice(0, first);
  const refusals: Refusal[] = [];
  for (const offer of offers.slice(first)) {
    const stage = sieve.refusal(offer);
    if (stage === null) fitting.push(offer);
    else refusals.push({ offer, stage });
  }
  return { fitting, refusals };
}

/** Whether that is all that keeps an offer's agent from taking calls. */
function isForRoomOnly(index: AbilityIndex): (refusal: Refusal) => boolean {
  return ({ offer, stage }) => stage === 'readiness' && hasReadyOrQueueing(index.agentOf(offer));
}

function refused(error: ReachError, { sieve }: Task, refusals: readonly Refusal[]): Outcome {
  return { kind: 'refused', error, sieve, refusals };
}

/** Either nobody passed the filters, or there was no text to go by. */
function nobodyCompared(task: Task): Outcome {
  const { fitting, refusals } = sift(task.group.offers, task.sieve);
  if (fitting.length > 0) throw nothingToCompare();
  return refused(nobodyFits({ ...task, refusals }), task, refusals);
}

function hasSeveralAbilities({ offers }: OfferGroup): boolean {
  return offers.some((offer) => offer.capability.name !== offers[0]!.capability.name);
}

/**
 * Decides logged decisions again under other circumstances (R23), with the very chooser that decides for real: its filters,
 * scores, versions and draws run on the world as it was recorded, but for what is changed. Pure, and no chance is in it:
 * what was drawn then is drawn again, and what was not is drawn from the decision's id.
 */
import type { ReplayedOutcome } from '../../protocol/decision-log';
import type { LoggedDecision, MatchFacts, OfferFacts } from '../../protocol/logged-decision';
import { ReachError } from '../../protocol/reach-error';
import type { ScoreFactors } from '../../protocol/shapes';
import type { World } from '../../protocol/world';
import { Chooser } from '../chooser';
import { toDecision } from '../decision';
import type { Chosen, Outcome } from '../outcome';
import { ANY_ABILITY } from '../scope';
import { DEFAULT_ROUTER_CONFIG, type RouterConfig, type RouteRequest } from '../types';
import { offersNow, weightsFor, type PreparedChanges } from './changes';
import { BreakersThen, changesWhoMay, offerKey, routesThen, statsThen, unitOf } from './circumstances';
import { bestUnrecorded, growthOfSimilarity } from './unrecorded';
import { nothingWasCompared, RecordedMatcher } from './recorded-matcher';
import { ReplayedWorlds } from './worlds';

type Inputs = NonNullable<LoggedDecision['inputs']>;

/** Compares the kept text of a decision with offers anew, by {@link OfferFacts.text_id}. */
export type Comparer = (text: string, offers: readonly OfferFacts[]) => Promise<ReadonlyMap<string, MatchFacts> | null>;

/** What became of one decision. */
export type Replayed =
  | { kind: 'unknown'; reason: string }
  | {
      kind: 'same' | 'changed';
      before: ReplayedOutcome;
      /** Put into words only where it is asked for. */
      after: () => ReplayedOutcome;
      agentAfter: { agent_name: string; agent_version: string; score: number } | null;
    };

/** Why nothing could be said of a decision. */
export const UNKNOWN = {
  noInputs: 'it was logged without what it was made of',
  fallback: 'a fallback stood in for a refusal, which is in the log itself',
  notCompared: 'somebody who might be chosen was never compared with the text; over HTTP its kept text can be',
  noText: 'its text was not kept, so it cannot be compared anew',
  unrecorded: 'it had more candidates than are in the record, and one of those might be chosen',
  offTopic: 'it left the ability open and was refused, and who else was compared is not in the record',
  notRegistered: 'what an agent said about itself then is not registered any more',
} as const;

/** Replays decisions, one after the other. */
export class Replayer {
  private readonly worlds = new ReplayedWorlds();

  /** @param compare where texts can be compared anew; it must give the same for the same */
  constructor(
    private readonly changes: PreparedChanges,
    private readonly compare: Comparer | null = null,
  ) {}

  async replay(record: LoggedDecision): Promise<Replayed> {
    const { inputs } = record;
    if (!inputs) return { kind: 'unknown', reason: UNKNOWN.noInputs };
    if (record.strategy === 'fallback') return { kind: 'unknown', reason: UNKNOWN.fallback };
    const before = outcomeBefore(record);
    const offers = offersNow(record, this.changes);
    const { asked } = this.changes;
    // An open request that was refused has told of some of those it was compared with, not of all.
    if (isOpenRefusal(record) && (asked.without || asked.agents)) return unknown('offTopic');
    if (isAboutTheText(record)) return asked.embeddings || asked.agents ? unknown('offTopic') : unchanged(before);
    if (record.chosen === null && offers.length === 0) return unchanged(before);
    if (asked.embeddings) return this.comparedAnew(record, offers, before);
    const byPosition = inputs.position !== undefined && inputs.unrecorded !== undefined;
    if (byPosition) return changesWhoMay(asked) ? unknown('unrecorded') : unchanged(before);
    const { outcome, missed } = await this.decide(record, offers);
    if (!missed) return this.judged(record, outcome, before);
    return this.compare ? this.comparedAnew(record, offers, before) : unknown('notCompared');
  }

  private async comparedAnew(
    record: LoggedDecision,
    offers: readonly OfferFacts[],
    before: ReplayedOutcome,
  ): Promise<Replayed> {
    const { text, text_sha256, unrecorded } = record.inputs!;
    if (text === undefined && text_sha256 !== undefined) return unknown('noText');
    if (unrecorded) return unknown('unrecorded');
    const matches = text === undefined ? new Map<string, MatchFacts>() : await this.compare?.(text, offers);
    if (!matches) return unknown('notRegistered');
    const compared = offers.map((facts) => ({ ...facts, match: matches.get(facts.text_id) }));
    const { outcome } = await this.decide(record, compared);
    return this.judged(record, outcome, before);
  }

  private async decide(
    record: LoggedDecision,
    offers: readonly OfferFacts[],
  ): Promise<{ outcome: Outcome; missed: boolean }> {
    const inputs = record.inputs!;
    const { type } = inputs.request;
    const patient = inputs.patient ?? false;
    const { agents, index } = this.worlds.of(offers, { type, patient });
    const byKey = new Map(offers.map((one) => [offerKey(one.agent_name, one.agent_version, one.ability), one]));
    const matcher = new RecordedMatcher({ offers: [...offers] }, nothingWasCompared(record));
    const world: World = {
      revision: record.decision_id,
      agents,
      stats: statsThen(byKey, inputs),
      routes: routesThen(inputs, this.changes.routes),
      breakers: new BreakersThen(record.decision_id, byKey, this.changes.breakers),
      ...(inputs.degraded && { degraded: { healthyShare: 0, threshold: 0, since: record.at } }),
    };
    const chooser = new Chooser({ matcher, ...this.chooserParts(record, inputs) });
    const request = requestThen(inputs);
    const outcome = await chooser.choose({ index, world, request, dryRun: false }).catch(refusedBy);
    return { outcome, missed: matcher.missed };
  }

  private chooserParts(record: LoggedDecision, inputs: Inputs) {
    const { decision_id, exploration, versioning } = record;
    const at = ((inputs.position ?? 0) + 0.5) / Math.max(1, fittingCount(inputs));
    const otherwise = inputs.position === undefined ? unitOf(`${decision_id} explore`) : at;
    const turn = inputs.position ?? 0;
    return {
      config: configThen(record, inputs),
      weights: weightsFor(record.weights, this.changes.asked),
      random: () => exploration?.draw ?? otherwise,
      versionRandom: () => versioning?.draw ?? unitOf(`${decision_id} version`),
      turns: { current: () => turn, advance: () => undefined },
      now: () => new Date(record.at),
    };
  }

  private judged(record: LoggedDecision, outcome: Outcome, before: ReplayedOutcome): Replayed {
    const after = () => outcomeAfter(record, outcome, this.changes);
    if (outcome.kind === 'refused') {
      return { kind: record.chosen === null ? 'same' : 'changed', before, after, agentAfter: null };
    }
    if (this.mightBeUnrecorded(record, outcome)) return unknown('unrecorded');
    const { agentName: agent_name, agentVersion: agent_version, capability } = outcome.chosen.offer;
    const agentAfter = { agent_name, agent_version, score: outcome.chosen.score };
    const same =
      before.agent_name === agent_name && before.agent_version === agent_version && before.ability === capability.name;
    return { kind: same ? 'same' : 'changed', before, after, agentAfter };
  }

  /** With very many candidates the record has the best only; of the others it has what bounds their scores. */
  private mightBeUnrecorded(record: LoggedDecision, { scoring, exploration }: Chosen): boolean {
    const { unrecorded, exploration: settings, offers } = record.inputs!;
    if (!unrecorded) return false;
    const scale = growthOfSimilarity(offers, offersNow(record, this.changes), unrecorded);
    const isMarked = offers.some(({ breaker, held_by }) => breaker !== undefined && held_by === undefined);
    // A marked call counts as reliable as the best; who is the best may be gone.
    if (scale === null || (isMarked && this.changes.asked.without !== undefined)) return true;
    const weights = weightsFor(record.weights, this.changes.asked);
    const bound = bestUnrecorded(unrecorded, { before: record.weights, now: weights, scale });
    const best = scoring.best[0]!.score;
    // Where chance picks among equals, or those near the winner, they all must be known.
    return exploration ? bound >= best - settings.band : bound > best;
  }
}

function isOpenRefusal({ chosen, inputs }: LoggedDecision): boolean {
  const ability = inputs?.request.ability;
  return chosen === null && (ability === undefined || ability === ANY_ABILITY);
}

/** Refused for what it says: that nobody's text was near enough does not depend on who was there or how they were scored. */
function isAboutTheText({ chosen, diagnosis }: LoggedDecision): boolean {
  return chosen === null && (diagnosis?.reason === 'off_topic' || diagnosis?.reason === 'ambiguous');
}

const unknown = (reason: keyof typeof UNKNOWN): Replayed => ({ kind: 'unknown', reason: UNKNOWN[reason] });

function unchanged(before: ReplayedOutcome): Replayed {
  const { agent_name, agent_version, score } = before;
  const agentAfter = agent_name === null ? null : { agent_name, agent_version: agent_version ?? '', score: score ?? 0 };
  return { kind: 'same', before, after: () => before, agentAfter };
}

const fittingCount = ({ offers }: Inputs) => offers.filter(({ held_by }) => held_by === undefined).length;

function configThen({ strategy, chosen, versioning }: LoggedDecision, inputs: Inputs): RouterConfig {
  const name = chosen && (versioning ? chosen.agent_name : `${chosen.agent_name}#${chosen.agent_version}`);
  return {
    ...DEFAULT_ROUTER_CONFIG,
    defaultStrategy: inputs.strategy,
    fallbackStrategy: inputs.strategy,
    exploration: inputs.exploration,
    openMatch: inputs.open_match,
    // A rule that applied applies again; its conditions may be about the payload, which is not kept.
    rules: strategy === 'rule' && name !== null ? [{ agent: name }] : [],
  };
}

function requestThen({ request, text_sha256, sticky }: Inputs): RouteRequest {
  return {
    ...request,
    payload: text_sha256 === undefined ? {} : { text: 'as it was' },
    metadata: {},
    ...(sticky && { sticky_hash: (agentName: string) => sticky[agentName] }),
  };
}

function refusedBy(caught: unknown): Outcome {
  return { kind: 'refused', error: ReachError.from(caught), sieve: null, refusals: [] };
}

function outcomeBefore({ chosen, route_reason, code }: LoggedDecision): ReplayedOutcome {
  return {
    agent_name: chosen?.agent_name ?? null,
    agent_version: chosen?.agent_version ?? null,
    ability: chosen?.ability ?? null,
    score: chosen?.score ?? null,
    route_reason,
    ...(code && { code }),
  };
}

function outcomeAfter(record: LoggedDecision, outcome: Outcome, changes: PreparedChanges): ReplayedOutcome {
  if (outcome.kind === 'refused') {
    const { code, message } = outcome.error;
    return { agent_name: null, agent_version: null, ability: null, score: null, route_reason: message, code };
  }
  return outcomeBefore({ ...record, ...described(record, outcome, weightsFor(record.weights, changes.asked)) });
}

function described({ inputs, decision_id, at }: LoggedDecision, outcome: Chosen, weights: ScoreFactors) {
  const { chosen, route_reason } = toDecision(outcome, {
    request: requestThen(inputs!),
    stats: { ability: () => null, instance: () => null },
    weights,
    instanceWeights: DEFAULT_ROUTER_CONFIG.instanceWeights,
    decisionId: decision_id,
    at: new Date(at),
  });
  return { chosen, route_reason, code: undefined };
}

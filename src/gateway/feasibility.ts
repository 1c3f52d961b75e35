import {
  estimateOf,
  verdictOf,
  type Estimate,
  type FeasibilitySettings,
  type FeasibilityTerms,
  type Verdict,
} from '../policy/feasibility';
import { mixProfiles, type ServiceProfile } from '../policy/queueing';
import type { Envelope } from '../protocol/envelope';
import { ReachError } from '../protocol/reach-error';
import type { Decision, InstanceState, Receipt } from '../protocol/shapes';
import { AgentsByName } from '../protocol/agents-by-name';
import type { AgentVersion, World } from '../protocol/world';
import type { AgentDemand, DemandLookup, MeasuredDemand } from '../registry';
import type { Routed } from '../../workflows/messages';
import { queueShare } from './queue-share';

/** Where the last minutes have fewer services, those of the hour before count as well. */
const ENOUGH_RECENT = 30;
/** An instance that says itself that it is busy is heard to be free within a second, in the mean after half of it, ms. */
const NOTICE_MS = 500;

/** What a receipt says of the time to come. */
export type ReceiptEstimate = Pick<Receipt, 'eta_ms' | 'eta_p95_ms' | 'warnings'>;

export interface FeasibilityOptions {
  world: () => World;
  demand: DemandLookup;
  /** Calls at once that an agent may have on the whole platform (R29). */
  limitOf: (agent: AgentVersion) => number;
  settings: FeasibilitySettings;
  /** `bulkhead.queue_wait`: how long a caller that waits may stand in an agent's queue, ms. */
  queueWaitMs: number;
}

/**
 * Says at acceptance when a reach is likely to be over, and warns or refuses when that is too late (R25). Reads what this process
 * knows already of queues and service times: no round trip, no command in a history.
 */
export class Feasibility {
  private readonly agents: AgentsByName;

  constructor(private readonly options: FeasibilityOptions) {
    this.agents = new AgentsByName(options.world);
  }

  /**
   * The estimate for a receipt; empty where too little was measured.
   *
   * @throws ReachError `overloaded` when the queue makes it hopeless and `acceptance.feasibility` is `refuse`; `deadline_exceeded`
   *   when services alone take longer than there is time
   */
  check({ decision, target, stand_in, ready }: Routed, envelope: Envelope): ReceiptEstimate {
    const isAnsweredHere = stand_in?.output !== undefined;
    // Of an agent that accepts and delivers later only the acceptance was measured.
    if (isAnsweredHere || target.ack_timeout_ms !== undefined) return {};
    // When a breaker lets it pass is a matter of its agent's recovery, of which no queue tells.
    if (!ready && this.isHeldBack(decision)) return {};
    const demand = this.options.demand.agent(decision.chosen.agent_name);
    // Its own version's places serve those who wait for that version, and nobody else.
    const queued = queueShare(demand, decision.chosen.agent_version);
    const estimate = this.estimate(decision, { demand, queued }, envelope);
    if (!estimate) return {};
    const terms = this.terms(envelope, target.timeout_ms);
    const verdict = this.verdict(estimate, terms, target.protocol === 'worker');
    if (verdict.kind === 'hopeless') throw refusal(decision, { estimate, terms, verdict, queued });
    const message = verdict.kind === 'at_risk' ? atRisk({ estimate, terms, verdict, queued }) : null;
    return {
      eta_ms: Math.round(estimate.etaMs),
      eta_p95_ms: Math.round(estimate.etaP95Ms),
      ...(message !== null && { warnings: [{ code: 'deadline_at_risk' as const, message }] }),
    };
  }

  private isHeldBack({ chosen: { agent_name: agentName, agent_version: agentVersion, ability } }: Decision): boolean {
    const gate = this.options.world().breakers?.gate({ agentName, agentVersion, ability });
    return gate !== undefined && gate.share < 1;
  }

  private estimate(
    { chosen }: Decision,
    { demand, queued }: { demand: AgentDemand; queued: number },
    { mode }: Envelope,
  ): Estimate | null {
    const agent = this.agents.find(chosen.agent_name, chosen.agent_version);
    if (!agent) return null;
    const isHere = ({ version }: MeasuredDemand) => version === agent.version;
    const here = demand.series.filter(isHere);
    const asked = here.filter(({ ability }) => ability === chosen.ability);
    const servers = this.servers(agent);
    if (asked.length === 0 || servers === 0) return null;
    return estimateOf({
      servers,
      durable: mode === 'async',
      noticeMs: agent.instances.some(saysThatItIsBusy) ? NOTICE_MS : 0,
      queueWaitMs: this.options.queueWaitMs,
      inFlight: this.inFlight(agent),
      queued,
      service: measured(asked),
      mix: measured(here),
    });
  }

  /** An agent that pulls is measured with its own queue: that says how long it takes, and little about this moment. */
  private verdict(estimate: Estimate, terms: FeasibilityTerms, pulls: boolean): Verdict {
    const { settings } = this.options;
    const isLenient = pulls && settings.feasibility === 'refuse';
    return verdictOf(estimate, terms, isLenient ? { ...settings, feasibility: 'warn' } : settings);
  }

  private terms({ mode, timeout_ms: deadlineMs }: Envelope, attemptMs: number): FeasibilityTerms {
    return { deadlineMs, attemptMs, patienceMs: mode === 'sync' ? this.options.queueWaitMs : Number.POSITIVE_INFINITY };
  }

  /** What its instances take at once, as far as they say, and no more than the platform lets through; 0 while there are none. */
  private servers(agent: AgentVersion): number {
    const serving = agent.instances.filter(({ status }) => status === 'ready' || status === 'busy');
    const limits = serving.map(({ max_concurrency }) => max_concurrency ?? Number.POSITIVE_INFINITY);
    const together = limits.reduce((sum, limit) => sum + limit, 0);
    return Math.min(together, this.options.limitOf(agent));
  }

  private inFlight({ name, version, descriptor }: AgentVersion): number {
    const { stats } = this.options.world();
    const each = descriptor.capabilities.map((ability) => stats.ability(name, version, ability.name)?.in_flight ?? 0);
    return each.reduce((sum, one) => sum + one, 0);
  }
}

/** Of one that is full of our own calls it is known at once when the next may come. */
function saysThatItIsBusy({ status, full_by_count }: InstanceState): boolean {
  return status === 'busy' && !full_by_count;
}

function measured(series: readonly MeasuredDemand[]): ServiceProfile {
  const recent = mixProfiles(series.map(({ service }) => ({ profile: service, weight: 1 })));
  if (recent.count >= ENOUGH_RECENT) return recent;
  const earlier = series.flatMap((one) => (one.earlier ? [{ profile: one.earlier.service, weight: 1 }] : []));
  return mixProfiles([{ profile: recent, weight: 1 }, ...earlier]);
}

interface Found<V extends Verdict = Verdict> {
  estimate: Estimate;
  terms: FeasibilityTerms;
  verdict: V;
  /** Reaches that wait for the version. */
  queued: number;
}

function atRisk({ estimate, terms, verdict, queued }: Found<Extract<Verdict, { kind: 'at_risk' }>>): string {
  const chance = `It has a chance of ${percent(verdict.chance)} to be answered within its ${terms.deadlineMs} ms`;
  return `${chance}: ${expectation(estimate, queued)}; give it more time, hand it over with mode async, or see GET /v1/scaling-hints`;
}

function refusal(
  { chosen, route_reason, decision_id }: Decision,
  { estimate, terms, verdict, queued }: Found<Extract<Verdict, { kind: 'hopeless' }>>,
): ReachError {
  const { agent_name, agent_version } = chosen;
  const details = {
    eta_ms: Math.round(estimate.etaMs),
    eta_p95_ms: Math.round(estimate.etaP95Ms),
    probability: Math.round(verdict.chance * 1_000) / 1_000,
    queue_depth: queued,
    samples: estimate.samples,
  };
  const extra = { agent_name, agent_version, route_reason, decision_id, details };
  const finding = `${agent_name} can hardly answer within ${terms.deadlineMs} ms: ${expectation(estimate, queued)}`;
  const { retryAfterMs } = verdict;
  if (retryAfterMs === null)
    return new ReachError('deadline_exceeded', `${finding}; nothing was started: send it with more time`, { extra });
  const advice = 'nothing was started: send it again after the given time, or with more of it';
  return new ReachError('overloaded', `${finding}; ${advice}`, { retryAfterMs, extra });
}

function expectation({ etaMs, etaP95Ms, waitMs }: Estimate, queued: number): string {
  const waiting = waitMs > 0 ? `, of which it waits ${Math.round(waitMs)} ms behind ${queued} others` : '';
  return `about ${Math.round(etaMs)} ms are to be expected${waiting}, ${Math.round(etaP95Ms)} ms in one case of 20`;
}

const percent = (share: number) => `${(share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;

import { ReachError } from '../src/protocol/reach-error';
import type { AdmissionMark, BreakerOutcome, BreakerTicket } from '../src/protocol/reliability';
import type { InstanceState } from '../src/protocol/shapes';
import type { AgentVersion } from '../src/protocol/world';
import { diagnosedAtCall } from '../src/routing/call-diagnosis';
import { isReadyOrQueues } from '../src/routing/readiness';
import { findAgent, type ActivityDependencies } from './dependencies';

/** Whom a call wants to reach, and how long it may wait for a place. */
export interface AdmissionRequest {
  agent: AgentVersion;
  ability: string;
  mark: AdmissionMark | null;
  /** A further attempt of a reach that a breaker has let in already. */
  retry: boolean;
  budgetMs: number;
  patienceMs: number;
  /** Nobody waits for the answer: it may come back when there is a place. */
  mayWait: boolean;
  /** Instances that failed this reach before; others are preferred. */
  avoid: string[];
  signal: AbortSignal;
  /** Reach id. */
  caller: string;
}

/** A place at an instance and leave to call it. `end` gives both back, whatever happened; call it once. */
export interface Admission {
  instance: InstanceState;
  ticket: BreakerTicket;
  end(outcome: BreakerOutcome, durationMs: number): void;
}

/**
 * What stands between an attempt and its agent: the agent's bulkhead, an instance with a free place, and last the
 * breaker, so that a probe is not claimed while its call still queues. The agent was not called when this throws.
 *
 * @throws ReachError `overloaded`, `circuit_open`, `no_ready_instance`; the signal's reason
 */
export async function admit(deps: ActivityDependencies, request: AdmissionRequest): Promise<Admission> {
  const { agent, ability } = request;
  const { patienceMs, signal, caller } = request;
  const patience = { patienceMs, signal, caller };
  const { bulkheads, breakers } = deps;
  const places: (() => void)[] = [];
  const leave = () => places.splice(0).forEach((release) => release());
  try {
    const limits = { limit: deps.limitOf(agent), ...placesOf(deps, agent) };
    places.push(await bulkheads.enter({ key: agent.name, ...limits, ...patience }));
    const countOf = countsOf(deps, agent);
    const instance = pick(deps, request, countOf);
    if (!instance) throw request.mayWait && isManned(deps, agent) ? allBusy(agent) : nobodyReady(agent);
    const limit = instance.max_concurrency;
    if (limit !== null) {
      const count = countOf(instance);
      const inFlight = count && { inFlight: count };
      places.push(await bulkheads.enter({ key: placeOf(agent, instance), limit, ...inFlight, ...patience }));
    }
    const key = { agentName: agent.name, agentVersion: agent.version, ability };
    const { mark, retry, budgetMs } = request;
    const ticket = await breakers.enter(key, { mark, retry, budgetMs });
    const end = (outcome: BreakerOutcome, durationMs: number) => {
      leave();
      breakers.report(key, ticket, outcome, durationMs);
    };
    return { instance, ticket, end };
  } catch (caught) {
    leave();
    throw diagnosedAtCall(caught, agent);
  }
}

/** True when an attempt was refused before the agent could be called, for reasons that are not the agent's answer. */
export function isTurnedAway({ code }: ReachError): boolean {
  return code === 'overloaded' || code === 'circuit_open';
}

/** One with a free place, better one that has not failed this reach; when none is free, one to queue at. */
function pick(
  deps: ActivityDependencies,
  { agent, ability, avoid }: AdmissionRequest,
  countOf: CountOf,
): InstanceState | null {
  const isFull = (instance: InstanceState) => {
    const limit = instance.max_concurrency;
    if (limit === null) return false;
    return deps.bulkheads.isFull(placeOf(agent, instance), limit) || (countOf(instance)?.() ?? 0) >= limit;
  };
  const choose = (options: { exclude?: string[]; isFull: typeof isFull }) =>
    deps.router.pickInstance(agent.name, agent.version, ability, options);
  const queue = () => false;
  return (
    choose({ exclude: avoid, isFull }) ??
    choose({ isFull }) ??
    choose({ exclude: avoid, isFull: queue }) ??
    choose({ isFull: queue })
  );
}

/** The places at the agent's instances that take calls, all versions together; none where one of them has no limit. */
function placesOf(deps: ActivityDependencies, { name }: AgentVersion): { places?: { key: string; limit: number }[] } {
  const callable = versionsOf(deps, name).flatMap((agent) =>
    agent.instances.filter((one) => one.host !== null && isReadyOrQueues(one)).map((one) => ({ agent, one })),
  );
  const places = callable.flatMap(({ agent, one }) =>
    one.max_concurrency === null ? [] : [{ key: placeOf(agent, one), limit: one.max_concurrency }],
  );
  return places.length > 0 && places.length === callable.length ? { places } : {};
}

/** Counts the calls under way at an instance; null for one whose id, that of an address, counts for several versions. */
type CountOf = (instance: InstanceState) => (() => number) | null;

function countsOf(deps: ActivityDependencies, { name, version }: AgentVersion): CountOf {
  const others = versionsOf(deps, name).filter((other) => other.version !== version);
  const shared = new Set(others.flatMap(({ instances }) => instances.map(({ instance_id }) => instance_id)));
  return ({ instance_id: id }) => (shared.has(id) ? null : () => deps.world().stats.instance(name, id)?.in_flight ?? 0);
}

function versionsOf(deps: ActivityDependencies, name: string): AgentVersion[] {
  return deps.world().agents.filter((agent) => agent.name === name);
}

/** Key of one instance's bulkhead. */
function placeOf(agent: AgentVersion, instance: InstanceState): string {
  return `${agent.name}/${agent.version}/${instance.instance_id}`;
}

/** Whether an instance is there that has places now and then, as the registry tells it now: `agent` is from before the wait. */
function isManned(deps: ActivityDependencies, { name, version }: AgentVersion): boolean {
  const instances = findAgent(deps.world(), name, version)?.instances ?? [];
  return instances.some(({ status, host }) => host !== null && (status === 'ready' || status === 'busy'));
}

/** Others took the places between the look that found one free and this one: no attempt, and no reason to give up. */
function allBusy({ name, version }: AgentVersion): ReachError {
  return new ReachError('overloaded', `All instances of ${name}@${version} are busy`, {
    received: 'no',
  });
}

function nobodyReady({ name, version }: AgentVersion): ReachError {
  return new ReachError('no_ready_instance', `No instance of ${name}@${version} is ready now`, { received: 'no' });
}

import { utcTime } from '../protocol/clock-time';
import type { InstanceState } from '../protocol/shapes';
import type { AgentVersion } from '../protocol/world';

/** What an agent can do now, told for people. `since` is null for an agent that nobody has heard of yet. */
export interface Readiness {
  ready: boolean;
  status: InstanceState['status'] | 'never_registered';
  since: string | null;
  detail: string;
  /** What keeps it: its status, or that it is ejected. */
  cause: InstanceState['status'] | 'never_registered' | 'ejected';
  /** Who says so; null for one that nobody has heard of. */
  by: string | null;
}

/** Of several instances that are not ready, the one nearest to being so speaks for the agent. */
const NEARNESS: readonly InstanceState['status'][] = ['ready', 'busy', 'draining', 'unavailable', 'expired'];

/** Whether an instance can take work (R14): at its limit it is busy, whatever was reported. */
export function isReady(instance: InstanceState): boolean {
  return instance.status === 'ready' && !isFull(instance);
}

/**
 * Whether an instance can take work, or will as soon as a call of this platform ends there. That count is a second old by the
 * time it is read: whoever is turned away for it leaves places empty, so where nobody has room calls queue for them (R29).
 */
export function isReadyOrQueues(instance: InstanceState): boolean {
  return isReady(instance) || instance.full_by_count === true;
}

function isFull(instance: InstanceState): boolean {
  return isFullBy(instance.in_flight, instance);
}

/** Whether that many calls in flight leave an instance no place; an unknown count leaves it some. */
export function isFullBy(inFlight: number | undefined, { max_concurrency }: InstanceState): boolean {
  return max_concurrency !== null && inFlight !== undefined && inFlight >= max_concurrency;
}

/** Whether any instance of the agent can take work; the words come from {@link readinessOf}. */
export function hasReadyInstance(agent: AgentVersion): boolean {
  return agent.instances.some(isReady);
}

/** Whether any instance of the agent can take work or is worth queueing for. */
export function hasReadyOrQueueing(agent: AgentVersion): boolean {
  return agent.instances.some(isReadyOrQueues);
}

/** The state of an agent as its instances show it. */
export function readinessOf(agent: AgentVersion): Readiness {
  const known = [...agent.instances, ...(agent.gone ?? [])];
  if (known.length === 0) {
    const detail = 'no instance has ever registered';
    return { ready: false, status: 'never_registered', since: null, detail, cause: 'never_registered', by: null };
  }
  const [best] = known.toSorted((a, b) => rank(a) - rank(b));
  const status = best!.status === 'ready' && isFull(best!) ? 'busy' : best!.status;
  const cause: Readiness['cause'] = status === 'unavailable' && best!.ejected_until !== undefined ? 'ejected' : status;
  const told = { since: best!.since, detail: describe(best!, status), cause, by: witnessOf(best!, cause) };
  return { ready: isReady(best!), status, ...told };
}

/** Who says that an instance is as it is: what an agent claims weighs less than what was seen of it. */
function witnessOf(instance: InstanceState, cause: Readiness['cause']): string {
  switch (cause) {
    case 'ejected':
      return 'its failed calls';
    case 'unavailable':
      return 'its health check';
    case 'expired':
      return 'its lease';
    case 'busy':
      return isFull(instance) ? 'its calls in flight' : 'the agent';
    default:
      return instance.source === 'static' ? 'its health check' : 'the agent';
  }
}

function rank(instance: InstanceState): number {
  return isReady(instance) ? -1 : NEARNESS.indexOf(instance.status);
}

/** `busy since 12:03:01 UTC: in_flight 4 of 4` */
function describe(instance: InstanceState, status: InstanceState['status']): string {
  const reason = isFull(instance)
    ? `in_flight ${instance.in_flight} of ${instance.max_concurrency}`
    : instance.status_reason;
  return `${status} since ${utcTime(instance.since)}${reason && `: ${reason}`}`;
}

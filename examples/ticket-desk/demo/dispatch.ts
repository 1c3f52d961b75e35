/** The demo's real work: each ticket becomes one sync reach by ability, and nobody says which agent. */
import { ReachError, type AgentReachClient, type RouteExplanation } from '../../../src/sdk/client';
import type { Disposition } from '../rules/decide';
import { payloadOf, type DeskTicket } from './tickets';

const ABILITY = 'ticket_disposition';
const TIMEOUT_MS = 10_000;

/** What became of one ticket. */
export interface Outcome {
  ticket: DeskTicket;
  /** What the caller waited, ms. */
  ms: number;
  /** Absent when nobody answered. */
  answered?: {
    agent: string;
    reachId: string;
    routeReason: string;
    /** The router's; the agent's own is in `output`. */
    confidence: number;
    attempts: number;
    output: Disposition;
  };
  /** Absent when somebody did. */
  failed?: { code: string; detail: string; agent?: string; reachId?: string };
  /** The router's view of this ticket, from a dry run beside the reach; absent when it could not be asked. */
  route?: RouteExplanation;
}

export interface DispatchOptions {
  concurrency: number;
  signal: AbortSignal;
  onDone: (outcome: Outcome) => void;
}

/** Dispatches all tickets, a few at a time; the outcomes are in the tickets' order. Throws only when aborted. */
export async function dispatch(
  reach: AgentReachClient,
  tickets: readonly DeskTicket[],
  options: DispatchOptions,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const waiting = tickets.entries();
  const work = async () => {
    for (const [index, ticket] of waiting) {
      options.signal.throwIfAborted();
      const outcome = await handleTicket(reach, ticket, options.signal);
      outcomes[index] = outcome;
      options.onDone(outcome);
    }
  };
  await Promise.all(Array.from({ length: options.concurrency }, work));
  return outcomes;
}

/** The dry run goes out beside the reach, not after it: scores move with the latencies that they are made of. */
async function handleTicket(reach: AgentReachClient, ticket: DeskTicket, signal: AbortSignal): Promise<Outcome> {
  const envelope = { ability: ABILITY, payload: payloadOf(ticket) };
  const explaining = reach.route(envelope, { signal }).catch(() => undefined);
  const outcome = await invoke(reach, ticket, signal);
  return { ...outcome, route: await explaining };
}

async function invoke(reach: AgentReachClient, ticket: DeskTicket, signal: AbortSignal): Promise<Outcome> {
  const startedAt = performance.now();
  const elapsed = () => Math.round(performance.now() - startedAt);
  try {
    const options = { idempotency_key: ticket.id, timeoutMs: TIMEOUT_MS, signal };
    const result = await reach.invokeAbility<Disposition>(ABILITY, payloadOf(ticket), options);
    const { agent_name: agent, reach_id: reachId, route_reason: routeReason, confidence, attempts, output } = result;
    return { ticket, ms: elapsed(), answered: { agent, reachId, routeReason, confidence, attempts, output } };
  } catch (caught) {
    signal.throwIfAborted();
    return { ticket, ms: elapsed(), failed: toFailure(caught) };
  }
}

function toFailure(caught: unknown): Outcome['failed'] {
  if (!(caught instanceof ReachError)) throw caught;
  const { diagnosis, extra } = caught.options;
  const detail =
    diagnosis && diagnosis.message !== caught.message ? `${caught.message}: ${diagnosis.message}` : caught.message;
  return { code: caught.code, detail, agent: extra?.agent_name, reachId: extra?.reach_id };
}

/** Vectors of the agents' descriptions are computed once at their registration; until then routing goes by wording. */
export async function meaningIsReady(reach: AgentReachClient, signal: AbortSignal): Promise<boolean> {
  const payload = { ticket_id: 'warm-up', user_message: 'Where is my refund?' };
  const deadline = performance.now() + WARM_UP_TIMEOUT_MS;
  while (performance.now() < deadline) {
    const { route_reason } = await reach.route({ ability: ABILITY, payload }, { signal });
    if (!/lexical fallback/.test(route_reason)) return !/compared by wording/.test(route_reason);
  }
  return false;
}

const WARM_UP_TIMEOUT_MS = 20_000;

/** Who comes second, by score. */
export function runnerUp({ answered, route }: Outcome): { agent: string; score: number } | undefined {
  const other = route?.candidates.find((candidate) => candidate.agent_name !== answered?.agent);
  return other && { agent: other.agent_name, score: other.score };
}

/** The score of the agent that answered. */
export function scoreOf({ answered, route }: Outcome): number | undefined {
  return route?.candidates.find((candidate) => candidate.agent_name === answered?.agent)?.score;
}

/** Whether the expected agent answered; undefined when the ticket does not say who that is. */
export function isRight({ ticket, answered }: Outcome): boolean | undefined {
  return ticket.agent === undefined ? undefined : ticket.agent === answered?.agent;
}

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseTargetAgent, type Envelope } from '../src/protocol/envelope';
import type { ErrorCode } from '../src/protocol/error-codes';
import { deliveryId, fingerprint } from '../src/protocol/identity';
import { DEFAULT_MAX_RETRY } from '../src/protocol/limits';
import type { PublishedEvent, Subscriber } from '../src/protocol/published-event';
import { ReachError } from '../src/protocol/reach-error';
import { readSubscribers } from '../src/protocol/subscriber-list';
import type { Routed } from '../workflows/messages';
import type { DeliverInput, DeliverOutput, DeliveryTrouble } from '../workflows/publish-messages';
import type { ActivityDependencies, PlannedReach } from './dependencies';
import { asFailure } from './failure';
import { decide, routeRequest } from './route';

/** Reaches started at once. */
const AT_ONCE = 10;
/** Longest message type that an envelope may have. */
const MAX_TYPE_CHARS = 64;

/** How far the view of a worker may lie behind that of the gateway that accepted the event, ms. */
const SETTLE_MS = 250;
const UNKNOWN: ReadonlySet<ErrorCode> = new Set(['agent_not_found', 'ability_not_found', 'version_not_found']);

/** What came of one subscriber. */
type Outcome = { unrouted?: DeliveryTrouble; failed?: DeliveryTrouble; again?: ReachError };

/**
 * The `deliverEvent` activity: one reach for each subscriber of a batch. Their ids say which event and which subscription, so
 * a repeat, on whichever worker, starts nothing twice. Nobody's trouble is another's: who cannot be routed to gets a reach all
 * the same, which waits or ends as a dead letter by itself, with the payload.
 */
export async function deliverEvent(deps: ActivityDependencies, input: DeliverInput): Promise<DeliverOutput> {
  const batch = readSubscribers(input.subscribers).slice(input.from, input.from + input.count);
  const outcomes: Outcome[] = [];
  for (let at = 0; at < batch.length; at += AT_ONCE) {
    const some = batch.slice(at, at + AT_ONCE);
    outcomes.push(...(await Promise.all(some.map((subscriber) => deliver(deps, input, subscriber)))));
  }
  const again = outcomes.find((outcome) => outcome.again !== undefined)?.again;
  if (again) throw asFailure(again, true);
  const failed = outcomes.flatMap((outcome) => outcome.failed ?? []);
  const unrouted = outcomes.flatMap((outcome) => outcome.unrouted ?? []);
  const came = { started: outcomes.length - failed.length, unrouted, failed };
  deps.reportDeliveries(came);
  return came;
}

async function deliver(
  deps: ActivityDependencies,
  { tenant, event, trace_id }: DeliverInput,
  subscriber: Subscriber,
): Promise<Outcome> {
  const id = deliveryId({ tenant, source: event.attributes.source, ...event.identity }, subscriber.id);
  const trouble = ({ code }: ReachError): DeliveryTrouble => ({ subscription: subscriber.id, reach_id: id, code });
  try {
    const { envelope, routed, refusal } = await routePatiently(deps, { id, event, subscriber });
    const lineage = lineageOf(event, id);
    const plan = { id, envelope, routed, digest: fingerprint(envelope), ...(lineage && { lineage }) };
    await deps.startReach(plan, trace_id);
    return refusal ? { unrouted: trouble(refusal) } : {};
  } catch (caught) {
    const error = ReachError.from(caught);
    return error.code === 'engine_unavailable' ? { again: error } : { failed: trouble(error) };
  }
}

/** Deliveries share no budget of retries: one that fails all the time must not use up the others'. */
function lineageOf({ ancestry, terms }: PublishedEvent, id: string): PlannedReach['lineage'] {
  return ancestry && { ...ancestry, tree: { run: id, limit: terms.max_total_retries } };
}

interface Delivery {
  id: string;
  event: PublishedEvent;
  subscriber: Subscriber;
}

interface RoutedDelivery {
  envelope: Envelope;
  routed: Routed;
  /** Why nobody was found. */
  refusal?: ReachError;
}

/** Who is unknown may have been registered a moment ago, and this worker's view be about to follow. */
async function routePatiently(deps: ActivityDependencies, delivery: Delivery): Promise<RoutedDelivery> {
  const first = await routeDelivery(deps, delivery);
  if (!first.refusal || !UNKNOWN.has(first.refusal.code)) return first;
  await sleep(SETTLE_MS);
  return routeDelivery(deps, delivery);
}

/** Routes under the first message type that somebody accepts; without anybody the reach goes on looking. */
async function routeDelivery(deps: ActivityDependencies, { id, event, subscriber }: Delivery): Promise<RoutedDelivery> {
  let refusal: ReachError | undefined;
  let envelope = deliveryEnvelope(id, event, subscriber);
  for (const type of typesOf(event, subscriber)) {
    envelope = { ...envelope, type };
    try {
      // A type that nobody accepts is one try of several; the reach itself looks again, and what it finds is news.
      const occasion = { reachId: id, refusalIsNoNews: true };
      return { envelope, routed: await decide(deps, routeRequest({ envelope, exclude: [] }), occasion) };
    } catch (caught) {
      refusal = ReachError.from(caught);
      if (refusal.code !== 'message_type_not_accepted') break;
    }
  }
  const last = { ...envelope, type: typesOf(event, subscriber).at(-1) ?? envelope.type };
  const because = refusal ?? new ReachError('internal', 'No message type was tried');
  return { envelope: last, routed: undecided(last, because, deps.protocolTimeoutMs), refusal: because };
}

/** A subscription that names a type means it; else what the agent accepts decides. */
function typesOf({ attributes }: PublishedEvent, { type }: Subscriber): string[] {
  if (type !== undefined) return [type];
  const own = attributes.type.length <= MAX_TYPE_CHARS ? [attributes.type] : [];
  return [...new Set([...own, 'event', 'task'])];
}

/** One subscriber's message. Whoever is slow to be ready is waited for: it is a durable hand-over. */
function deliveryEnvelope(
  id: string,
  event: PublishedEvent,
  { agent, ability, id: subscription_id }: Subscriber,
): Envelope {
  const { topic, attributes, payload, terms, sender } = event;
  return {
    ...(ability !== undefined && { ability }),
    ...(agent !== undefined && { target_agent: agent }),
    payload,
    type: 'event',
    mode: 'async',
    ...terms,
    idempotency_key: id,
    source_agent: sender ?? attributes.source,
    message_id: attributes.id,
    event: { topic, subscription_id, attributes },
  };
}

/** Stands in for a decision until the reach's own `route` makes one, or fails with why it cannot. */
function undecided(envelope: Envelope, refusal: ReachError, protocolTimeoutMs: number): Routed {
  const asked = envelope.target_agent === undefined ? null : parseTargetAgent(envelope.target_agent);
  const ability = envelope.ability ?? '';
  return {
    decision: {
      decision_id: randomUUID(),
      at: new Date().toISOString(),
      ability,
      group: envelope.group,
      strategy: 'direct',
      chosen: { agent_name: asked?.name ?? '', agent_version: asked?.version ?? '', ability, score: 0 },
      confidence: 0,
      explored: false,
      candidates: [],
      excluded: [],
      excluded_count: 0,
      route_reason: `nobody was found when the event was handed out: ${refusal.message}`.slice(0, 1_000),
    },
    target: {
      protocol: 'http',
      task_queue: null,
      timeout_ms: protocolTimeoutMs,
      max_retry: DEFAULT_MAX_RETRY,
      idempotent: null,
    },
    ready: false,
  };
}

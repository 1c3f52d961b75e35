import { Router, type Request, type Response } from 'express';
import { parseEventEnvelope, DEFAULT_TERMS } from '../../protocol/event-envelope';
import { DEFAULT_WAIT_MS } from '../../protocol/limits';
import { assertNotOurs } from '../../protocol/platform-sources';
import type { PublishedEvent } from '../../protocol/published-event';
import { ReachError } from '../../protocol/reach-error';
import { topicSchema } from '../../protocol/topics';
import { validate } from '../../protocol/validation';
import type { Backpressure } from '../backpressure';
import { readCloudEvent } from '../cloud-events';
import type { EventPublisher } from '../event-publisher';
import { handle, header, identityOf, param, preferredWaitMs } from '../http';
import type { Nesting, ParentCall } from '../nesting';
import { assertWithin } from '../own-reaches';
import { traceIdOf } from '../trace-context';

/** What publishing calls. */
export interface EventRouteDependencies {
  publisher: EventPublisher;
  backpressure: Pick<Backpressure, 'admit'>;
  nesting: Pick<Nesting, 'parentOf' | 'confirm'>;
  newMessageId: () => string;
}

/** Marks links of a chain above an event; no ability's name ends so. */
const VIA_EVENT = ' (event)';

/** `POST /v1/topics/{topic}/events`: a CloudEvent for everybody who listens. To be mounted at `/v1/topics`. */
export function topicRoutes(deps: EventRouteDependencies): Router {
  const router = Router();
  router.post(
    '/:topic/events',
    handle(async (request, response) => {
      const topic = validate(topicSchema, param(request, 'topic'), { what: 'the topic' });
      const body: unknown = request.body;
      const message = { headers: request.headers, body: Buffer.isBuffer(body) ? body : new Uint8Array() };
      const { attributes, payload } = readCloudEvent(message);
      assertNotOurs(attributes.source, '/source');
      const identity = { key: attributes.id, by: 'id' } as const;
      const parent = await parentOf(deps, request);
      const event = { topic, attributes, payload, identity, terms: DEFAULT_TERMS };
      await answer(deps, event, { request, response, parent });
    }),
  );
  return router;
}

/** `POST /v1/reaches` with `mode: event`. Whoever publishes from a call speaks as its agent. */
export async function publishEnvelope(
  deps: EventRouteDependencies,
  body: unknown,
  { request, response }: { request: Request; response: Response },
): Promise<void> {
  const headers = {
    idempotencyKey: header(request, 'idempotency-key'),
    timeoutMs: header(request, 'x-reach-timeout-ms'),
  };
  const parent = await parentOf(deps, request);
  const principal = parent?.inheritance.agent_name ?? identityOf(response).principal;
  const event = parseEventEnvelope(body, headers, { principal, newMessageId: deps.newMessageId });
  assertNotOurs(event.attributes.source, '/source_agent');
  if (parent) assertOwnName(event, principal);
  assertWithin(identityOf(response), event.terms);
  await answer(deps, event, { request, response, parent });
}

async function answer(
  { publisher, backpressure }: EventRouteDependencies,
  event: PublishedEvent,
  { request, response, parent }: { request: Request; response: Response; parent: ParentCall | null },
): Promise<void> {
  const traceId =
    parent?.inheritance.trace_id ?? traceIdOf(header(request, 'traceparent') ?? event.attributes.traceparent);
  const call = { traceId, waitMs: preferredWaitMs(request, DEFAULT_WAIT_MS, 'sync') };
  const descended = parent ? { ...event, sender: parent.inheritance.agent_name, ancestry: ancestryOf(parent) } : event;
  response.status(202).json(await backpressure.admit('async', () => publisher.publish(descended, call)));
}

/** @throws ReachError `delegation_loop` where events that are answered with events run too deep (R10) */
async function parentOf({ nesting }: EventRouteDependencies, request: Request): Promise<ParentCall | null> {
  const parent = await nesting.parentOf({
    token: header(request, 'x-reach-token'),
    parent: header(request, 'x-reach-parent'),
    deadlineMs: header(request, 'x-reach-deadline-ms'),
  });
  // Once a call is over its token publishes nothing either.
  if (parent) await nesting.confirm(parent);
  return parent;
}

/**
 * Those above do not wait for who gets the event, so they may be among them: their links count for the depth of the chain,
 * and are no loop.
 */
function ancestryOf({ inheritance }: ParentCall): NonNullable<PublishedEvent['ancestry']> {
  const { root, parent, parent_run, chain } = inheritance;
  return { root, parent, parent_run, chain: chain.map((link) => (link.endsWith(VIA_EVENT) ? link : link + VIA_EVENT)) };
}

function assertOwnName({ attributes: { source } }: PublishedEvent, agent: string): void {
  if (source === agent) return;
  throw new ReachError('forbidden', `This event is published from a call to ${agent}, and cannot be ${source}'s`, {
    errors: [{ pointer: '/source_agent', message: `must be ${agent}`, fix: 'leave it out' }],
  });
}

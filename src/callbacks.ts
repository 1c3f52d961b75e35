/** How the ends of reaches are told (R5), built from one Config: for the worker that does it, and for the gateway that shows it. */
import { randomBytes } from 'node:crypto';
import { Client } from '@temporalio/client';
import { Worker, type NativeConnection } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { Registry as MetricsRegistry } from 'prom-client';
import { createDeliveryActivities, type DeliveryDependencies, type ToldEnd } from '../activities/deliver-callback';
import { CallbackPoster, createDispatcher } from './adapters';
import type { Config } from './config';
import { signalEnd } from './gateway/callbacks/reply';
import { readEndedRun } from './gateway/callbacks/run-end';
import { describeTarget, DeliveryStarter } from './gateway/callbacks/starter';
import { toldView } from './gateway/callbacks/told-end';
import { ReachReader } from './gateway/reach-reader';
import type { EgressPolicy } from './policy/egress';
import type { CallbackSecret } from './protocol/callback';
import { assertSecret, CallbackSigner, secretText } from './protocol/callback-signature';
import type { ReplyTo } from './protocol/callback-target';
import { ReachError } from './protocol/reach-error';
import { VERSION } from './protocol/version';
import { sharedSecret } from './registry';
import { createCallbackMetrics } from './telemetry/callback-metrics';

/** Connections to one receiver at once. */
const CONNECTIONS_PER_RECEIVER = 8;
/** Attempts that one worker makes at once: receivers that hang fill these, and no agent's. */
const CONCURRENT_ATTEMPTS = 100;
const SECRET_BYTES = 32;

/** Publishes the end of a reach to a topic. The same `id` again is the same event. */
export type PublishEnd = (event: { id: string; topic: string; type: string; data: ToldEnd['view'] }) => Promise<void>;

/** What callbacks are made of. */
export interface CallbackParts {
  dependencies: DeliveryDependencies;
  starter: DeliveryStarter;
  /** What receivers may be told of the secret. */
  secret: CallbackSecret;
  attemptQueue: string;
  close(): Promise<void>;
}

/** What they are built from. */
export interface CallbackSurroundings {
  base: Parameters<typeof sharedSecret>[0];
  connection: NativeConnection;
  egress: EgressPolicy;
  metrics: MetricsRegistry;
  logger: Logger;
  env: Record<string, string | undefined>;
  /** Absent where no topics are: `reply_to` a topic is then tried until it is given up. */
  publishEnd?: PublishEnd;
}

/** @throws ReachError when a configured secret is missing or has the wrong form */
export async function createCallbacks(config: Config, around: CallbackSurroundings): Promise<CallbackParts> {
  const { connection, egress } = around;
  const { namespace, task_queue: taskQueue, ui_url } = config.temporal;
  const client = new Client({ connection, namespace });
  const attemptQueue = `${taskQueue}-callbacks`;
  const starter = new DeliveryStarter({ client, taskQueue, attemptQueue, settings: config.callbacks });
  const dispatcher = createDispatcher({ egress, connectionsPerOrigin: CONNECTIONS_PER_RECEIVER });
  const poster = new CallbackPoster({ dispatcher, egress, userAgent: `agent-reach/${VERSION}` });
  const { secrets, told } = await secretsOf(config, around);
  const signer = new CallbackSigner(secrets);
  const { links } = linksOf(client, { namespace, temporalUiUrl: ui_url ?? null });
  const dependencies: DeliveryDependencies = {
    start: (input) => starter.start(input),
    async readEnd(reachId, runId) {
      const ended = await readEndedRun({ client, links }, reachId, runId);
      return ended && { endedAt: ended.endedAt.toISOString(), ...toldView(ended.view, links(reachId)) };
    },
    post({ id, end, ...request }) {
      const body = JSON.stringify({ type: end.type ?? `reach.${end.status}`, timestamp: end.endedAt, data: end.view });
      return poster.post({ ...request, body, headers: { ...signer.sign(id, new Date(), body) } });
    },
    reply: (request) => reply({ client, namespace, publishEnd: around.publishEnd }, request),
    attempted: reporter(around),
    random: Math.random,
  };
  return { dependencies, starter, secret: told, attemptQueue, close: () => poster.close() };
}

/** The worker that makes the attempts. It has a queue of its own and runs no workflows. */
export function createCallbackWorker(
  parts: Pick<CallbackParts, 'dependencies' | 'attemptQueue'>,
  { connection, config }: { connection: NativeConnection; config: Config },
): Promise<Worker> {
  return Worker.create({
    connection,
    namespace: config.temporal.namespace,
    taskQueue: parts.attemptQueue,
    activities: { deliver: createDeliveryActivities(parts.dependencies).deliver },
    maxConcurrentActivityTaskExecutions: CONCURRENT_ATTEMPTS,
    shutdownGraceTime: config.server.graceful_timeout,
    shutdownForceTime: config.server.graceful_timeout + 5_000,
  });
}

function linksOf(client: Client, where: { namespace: string; temporalUiUrl: string | null }) {
  const reader = new ReachReader({ client, ...where });
  return { links: (id: string) => reader.links(id) };
}

async function reply(
  { client, namespace, publishEnd }: { client: Client; namespace: string; publishEnd: PublishEnd | undefined },
  { id, to, end }: { id: string; to: ReplyTo; end: ToldEnd },
): Promise<void> {
  if ('topic' in to) {
    if (!publishEnd) throw new ReachError('engine_unavailable', 'This worker does not publish events');
    return publishEnd({ id, topic: to.topic, type: `reach.${end.status}`, data: end.view });
  }
  await signalEnd({ client, namespace }, { id, workflowId: to.workflow_id, signal: to.signal, value: end.view });
}

/**
 * The secrets that the configuration names, the one in use first. Asked for before anything is started, too.
 * @throws ReachError `invalid_request` for a variable that is not set or holds no secret, without quoting it
 */
export function configuredSecrets(callbacks: Config['callbacks'], env: CallbackSurroundings['env']): string[] {
  const names = [callbacks.secret_env, callbacks.previous_secret_env];
  return names.flatMap((name) => (name === undefined ? [] : [read(name, env)]));
}

/** The configured secrets, else one that all processes share. What was configured is told to nobody. */
async function secretsOf(
  { callbacks }: Config,
  { env, base }: Pick<CallbackSurroundings, 'env' | 'base'>,
): Promise<{ secrets: string[]; told: CallbackSecret }> {
  const configured = configuredSecrets(callbacks, env);
  if (configured.length > 0) return { secrets: configured, told: { source: 'configured' } };
  const secret = secretText(await sharedSecret(base, 'callbacks', () => randomBytes(SECRET_BYTES)));
  return { secrets: [secret], told: { source: 'generated', secret } };
}

function read(name: string, env: Record<string, string | undefined>): string {
  const value = env[name];
  if (!value)
    throw new ReachError('invalid_request', `callbacks names ${name}, which is not set; set it or remove the setting`);
  assertSecret(value, `The variable ${name}`);
  return value;
}

/** Counts attempts; one that was the last in vain is in the log, with the receiver's origin and no more of its address. */
function reporter({
  metrics,
  logger,
}: Pick<CallbackSurroundings, 'metrics' | 'logger'>): DeliveryDependencies['attempted'] {
  const counters = createCallbackMetrics(metrics);
  return ({ id, reach_id, to }, outcome, failure) => {
    counters.attempted('url' in to ? 'callback' : 'topic' in to ? 'topic' : 'signal', outcome);
    const facts = { callback_id: id, reach_id, to: describeTarget(to), attempts: failure?.attempts };
    if (outcome === 'failed')
      logger.warn(
        facts,
        `a callback is given up: ${failure?.message}; see \`agent-reach callbacks list --state failed\``,
      );
    else if (outcome === 'retried') logger.debug(facts, failure?.message);
  };
}

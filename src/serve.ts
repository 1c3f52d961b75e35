/**
 * A gateway out of a Config, with a worker inside unless told otherwise: what the composition root starts and what
 * tests start in their own process. Knows nothing of arguments, signals and exit codes; that is the root's part.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client } from '@temporalio/client';
import { v7 as uuidv7 } from 'uuid';
import type { Logger } from 'pino';
import type { Registry as MetricsRegistry } from 'prom-client';
import { createAlerts, type PlatformAlerts } from './alerts';
import type { Config } from './config';
import { createCanary } from './canary';
import { ContextStore } from './context';
import { createDoctor } from './doctor';
import { AgentCatalogue } from './gateway/agent-catalogue';
import { AgentRegistrar } from './gateway/agent-registrar';
import { createApp } from './gateway/app';
import { Backpressure } from './gateway/backpressure';
import { BreakerService } from './gateway/breaker-service';
import { Callbacks } from './gateway/callbacks';
import { Deliveries } from './gateway/callbacks/deliveries';
import { DeadLetters } from './gateway/dead-letters';
import { DecisionService } from './gateway/decision-service';
import { RunReader } from './gateway/dead-letters/runs';
import { countingGroups, GroupCensus } from './gateway/doctor';
import { EventFeed } from './gateway/event-feed';
import { Nesting } from './gateway/nesting';
import { alertingOnRefusals } from './gateway/no-candidate-alert';
import { LateResults } from './gateway/late-results';
import { ReachLister } from './gateway/reach-list';
import { ReachReader } from './gateway/reach-reader';
import { ReachService } from './gateway/reach-service';
import { Readiness } from './gateway/readiness';
import type { Scaling } from './gateway/scaling';
import { TraceReader } from './gateway/trace-reader';
import { contextClaims, keepPayloads } from './payload-upkeep';
import { createPlatform, type Platform } from './platform';
import { createWorker } from './reach-worker';
import { acceptanceOf, scalingOf } from './scaling';
import { DEFAULT_TENANT } from './protocol/limits';
import { buildOpenApi } from './protocol/openapi';
import { VERSION } from './protocol/version';
import { createEtcd } from './registry';
import { stopEach } from './stopping';
import { reachCanceller } from './temporal';
import { createDeadLetterMetrics } from './telemetry/dead-letter-metrics';
import { HttpMetrics } from './telemetry/http-metrics';
import { createMetricsRegistry } from './telemetry/metrics';
import { observeBackpressure } from './telemetry/reliability-metrics';
import { endWorker, runWatched, type RunningWorker } from './workers';
import { createRoutingLog, type RoutingLog } from './telemetry/routing-log';

/** What a gateway is started with besides its Config. */
export interface ServeOptions {
  logger: Logger;
  /** null: nobody needs a key; the root allows that on loopback only. */
  apiKey: string | null;
  /** Run a worker in the same process. Default true. */
  withWorker?: boolean;
  /** Told once when the worker breaks down, after the log was: close the gateway then. */
  onWorkerBroken?: (error: unknown) => void;
}

/** A gateway that answers. */
export interface RunningGateway {
  /** `http://host:port`, with the port really listened on. */
  url: string;
  /** Takes nothing new, lets requests and activities end (`server.graceful_timeout`), and closes all connections. */
  close(): Promise<void>;
}

/** Starts a gateway. Throws what is missing (an engine, the port), with what to do about it; nothing is left running then. */
export async function serve(
  config: Config,
  { logger, apiKey, withWorker = true, onWorkerBroken }: ServeOptions,
): Promise<RunningGateway> {
  const metrics = createMetricsRegistry();
  const platform = await createPlatform(config, logger, metrics);
  let worker: RunningWorker | null = null;
  let working: Promise<void> | undefined;
  let alerting: PlatformAlerts | null = null;
  try {
    alerting = createAlerts(platform, metrics);
    const { alerts, stop: stopAlerts } = alerting;
    const refusals = alertingOnRefusals(createRoutingLog(logger, metrics), alerts);
    worker = withWorker ? await createWorker(platform, refusals) : null;
    working =
      worker === null
        ? undefined
        : runWatched(worker, (err) => {
            logger.fatal({ err }, 'the worker broke down');
            onWorkerBroken?.(err);
          });
    const readiness = readinessOf(platform);
    const canary = createCanary(platform, alerts);
    const groups = new GroupCensus();
    const log = countingGroups(refusals, groups);
    const scaling = scalingOf(platform, metrics);
    const parts = services(platform, { readiness, log, demand: scaling.scaling });
    const deadLetters = deadLettersOf(platform, parts, metrics);
    const contexts = contextsOf(platform);
    const backpressure = backpressureOf(platform, metrics);
    await canary.start();
    const app = createApp({
      ...parts,
      deadLetters: deadLetters.service,
      doctor: createDoctor(platform, { deadLetters: deadLetters.service, groups }),
      publisher: platform.publisher,
      subscriptions: platform.subscriptions,
      newMessageId: uuidv7,
      contexts: contexts.store,
      routingTable: canary.routingTable,
      backpressure,
      scaling: scaling.scaling,
      logger,
      apiKey,
      metrics,
      httpMetrics: new HttpMetrics(metrics),
      openApi: buildOpenApi({ version: VERSION }),
    });
    const server = createServer(app);
    await listen(server, config.server).catch(async (error: unknown) => {
      await stopEach([() => deadLetters.close(), () => contexts.close(), () => canary.stop()]).catch(() => undefined);
      throw error;
    });
    deadLetters.service.start();
    backpressure.start();
    platform.decisions.startPruning();
    const keeper = keepPayloads(platform, metrics, contexts.sweep);
    const close = () => {
      readiness.drain();
      return stopEach([
        () => backpressure.stop(),
        () => scaling.stop(),
        () => canary.stop(),
        () => keeper.stop(),
        () => endServer(server, config.server.graceful_timeout),
        () => deadLetters.close(),
        () => contexts.close(),
        () => endWorker(worker, working),
        stopAlerts,
        () => platform.close(),
      ]);
    };
    return { url: urlOf(server, config.server.host), close };
  } catch (error) {
    // A worker that runs holds the connection: closing that would fail, and hide what went wrong.
    await stopEach([() => endWorker(worker, working), () => alerting?.stop(), () => platform.close()]).catch(
      (err: unknown) => logger.warn({ err }, 'not all could be stopped after a start that failed'),
    );
    throw error;
  }
}

function services(
  platform: Platform,
  { readiness, log, demand }: { readiness: Readiness; log: RoutingLog; demand: Pick<Scaling, 'queueDepth'> },
) {
  const { config, connection, view, router, tokens, registry, egress, breakers, deduplication, tree } = platform;
  const { payloads } = platform.payloads;
  const { namespace, task_queue: taskQueue, agents_address: agentsAddress } = config.temporal;
  const client = new Client({ connection, namespace });
  const world = () => view.world();
  const deliveries = new Deliveries({ client, namespace });
  const reader = new ReachReader({ client, namespace, temporalUiUrl: config.temporal.ui_url ?? null, deliveries });
  const protocolTimeoutMs = config.adapter.protocol_timeout_ms;
  const catalogue = new AgentCatalogue(view, breakers, demand);
  const nesting = new Nesting({
    tokens,
    reader,
    tree,
    callsUnderWay: platform.callsUnderWay,
    cancel: reachCanceller(connection, config),
    maxDepth: config.nesting.max_depth,
  });
  const workerEngine = agentsAddress ? { address: agentsAddress, namespace } : null;
  return {
    reader,
    service: new ReachService({
      client,
      reader,
      router,
      world,
      tenant: DEFAULT_TENANT,
      taskQueue,
      protocolTimeoutMs,
      newMessageId: uuidv7,
      log,
      nesting,
      egress,
      payloads,
      ...acceptanceOf(platform),
      keepStandIn: (decision, reachId) => platform.decisions.keepStandIn(decision, reachId),
    }),
    callbacks: new Callbacks({
      deliveries,
      runs: new RunReader({ client, namespace }),
      logger: platform.logger,
      ...platform.callbacks,
    }),
    nesting,
    tokens,
    lister: new ReachLister({ client, namespace }),
    lateResults: new LateResults({ client, reader, tokens, world, tree, payloads }),
    traces: new TraceReader({ client, namespace, reader, tree }),
    events: new EventFeed({ client, namespace, reader }),
    registrar: new AgentRegistrar({
      registry,
      view,
      egress,
      tokenEnvAllow: config.security.token_env_allow,
      workerEngine,
      breakers,
    }),
    catalogue,
    breakerService: new BreakerService(breakers, catalogue),
    decisions: new DecisionService({ log: platform.decisions.log, comparer: platform.comparer }),
    deduplication,
    payloads,
    router,
    readiness,
  };
}

function backpressureOf({ connection, config }: Platform, metrics: MetricsRegistry): Backpressure {
  const { namespace, task_queue: taskQueue } = config.temporal;
  const { max_in_flight: maxInFlight, max_backlog_age: maxBacklogAgeMs } = config.backpressure;
  const client = new Client({ connection, namespace });
  const backpressure = new Backpressure({ client, namespace, taskQueue, maxInFlight, maxBacklogAgeMs });
  observeBackpressure(metrics, () => backpressure.state());
  return backpressure;
}

/** Dead letters with an etcd client of their own: a sweep never waits behind heartbeats, nor they behind it. */
function deadLettersOf(
  { config, connection, logger, payloads: platformPayloads }: Platform,
  { reader, callbacks }: { reader: ReachReader; callbacks: Callbacks },
  metrics: MetricsRegistry,
) {
  const { namespace } = config.temporal;
  const etcd = createEtcd({ hosts: config.registry.etcd });
  const service = new DeadLetters({
    client: new Client({ connection, namespace }),
    namespace,
    reader,
    etcd,
    keyPrefix: config.registry.key_prefix,
    tenant: DEFAULT_TENANT,
    settings: config.dead_letters,
    metrics: createDeadLetterMetrics(metrics),
    onEnded: (run) => callbacks.catchUp(run),
    payloads: platformPayloads.payloads,
    logger,
  });
  const close = async () => {
    await service.stop();
    etcd.close();
  };
  return { service, close };
}

/** The Context Store with an etcd client of its own: large contexts never hold up heartbeats, nor they it. */
function contextsOf({ config, logger, payloads }: Platform) {
  const etcd = createEtcd({ hosts: config.registry.etcd });
  const keyPrefix = config.registry.key_prefix;
  const { blobs, sweep } = contextClaims({ config, payloads, etcd });
  const store = new ContextStore({
    etcd,
    keyPrefix,
    tenant: DEFAULT_TENANT,
    ttlMs: config.context.ttl,
    claims: { blobs, aboveBytes: config.context.claim_above_bytes, maxValueBytes: config.payloads.max_bytes },
    logger,
  });
  const close = async () => {
    await store.close();
    etcd.close();
  };
  return { store, sweep, close };
}

function readinessOf({ connection, config, view, vectors }: Platform): Readiness {
  const { namespace } = config.temporal;
  return new Readiness({ client: new Client({ connection, namespace }), namespace, view, vectors });
}

function listen(server: Server, { port, host }: Config['server']): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
}

/** Requests that are being answered end; connections that only idle, or take longer than the patience, are cut. */
async function endServer(server: Server, patienceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const patience = setTimeout(() => server.closeAllConnections(), patienceMs);
  await closed;
  clearTimeout(patience);
}

function urlOf(server: Server, host: string): string {
  const { port } = server.address() as AddressInfo;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/**
 * What the gateway and the worker have in common, built from one Config: the view of the registry, the router,
 * the adapters and the connection to Temporal. The composition roots (gateway.ts, worker.ts) put it to use.
 */
import { randomBytes } from 'node:crypto';
import type { NativeConnection } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { Registry as MetricsRegistry } from 'prom-client';
import type { ActivityDependencies, CallSample } from '../activities/dependencies';
import { FastLane } from '../activities/fast-lane';
import { ConnectionLedger, createDispatcher, HttpAdapter, RedisStreamsAdapter, type Adapter } from './adapters';
import { configuredSecrets, createCallbacks, type CallbackParts } from './callbacks';
import { assertSecretsSet, secretOf, type Config } from './config';
import { countingStarts, createDemand } from './demand';
import { createPublisher, createReachStarter, createSubscriptions, endPublisher } from './events';
import type { EventPublisher } from './gateway/event-publisher';
import type { SubscriptionService } from './gateway/subscription-service';
import { parseEgressAllow, type EgressPolicy } from './policy/egress';
import { isTokenEnvAllowed } from './policy/token-env';
import { createPayloads, type PayloadPlatform } from './payloads';
import { DEFAULT_TENANT } from './protocol/limits';
import { ReachTokens } from './protocol/reach-token';
import type { World } from './protocol/world';
import {
  CallsUnderWay,
  createEtcd,
  HealthProber,
  PlatformDeduplication,
  ReachTree,
  Registry,
  RegistryView,
  RouteTableView,
  sharedSecret,
  StatsHub,
  type BreakerHub,
  type DemandHub,
} from './registry';
import { ConcurrencyLimits } from './limits';
import { createReliability } from './reliability';
import { createDecisionLog, type RunningDecisionLog } from './decision-log';
import type { VectorState } from './keep-warm';
import { createRouter, type WarmRouter } from './meaning';
import type { Router } from './routing';
import { stopEach } from './stopping';
import { connectTemporal, installRuntime, reachCanceller } from './temporal';
import { createEventLog } from './telemetry/event-metrics';
import { countingConnections, createAgentMetrics, observeRegistry } from './telemetry/metrics';
import { createReliabilityMetrics, observeReliability } from './telemetry/reliability-metrics';

/** So many workflow tasks of a worker may be held by calls of one agent on the fast path. */
const FAST_LANE_PER_AGENT = 25;
/** The parts that every process of the platform runs. */
export interface Platform {
  config: Config;
  logger: Logger;
  registry: Registry;
  view: RegistryView;
  stats: StatsHub;
  /** What is asked of agents (R35). */
  demand: DemandHub;
  router: Router;
  tokens: ReachTokens;
  egress: EgressPolicy;
  connection: NativeConnection;
  vectors(): VectorState;
  /** Compares logged texts anew, also with another model. */
  comparer: WarmRouter['comparer'];
  /** What routing decided, here and elsewhere (R23). */
  decisions: RunningDecisionLog;
  /** Connections to agents, as this process counts them (R39). */
  connections: ConnectionLedger;
  /** All but where refusals are told: that is made of the platform itself. */
  activities: Omit<ActivityDependencies, 'reportRefusal'>;
  breakers: BreakerHub;
  /** How the versions of agents share their calls (R21), as this process sees it. */
  routes: RouteTableView;
  /** Of what etcd keeps for agents: what they have done already (R7). */
  deduplication: PlatformDeduplication;
  tree: ReachTree;
  /** The calls of this process's own worker. */
  callsUnderWay: CallsUnderWay;
  callbacks: CallbackParts;
  /** Topics: who subscribes, and how events are accepted (R3). */
  subscriptions: SubscriptionService;
  publisher: EventPublisher;
  /** Large payloads, and the store they are in (R8). */
  payloads: PayloadPlatform;
  /** Announces this process as one that makes calls: from now on it has a share of the limits. */
  joinWorkers(): Promise<void>;
  close(): Promise<void>;
}

/** Connects to the engines and builds the parts. Throws what is missing, with what to do about it. */
export async function createPlatform(config: Config, logger: Logger, metrics: MetricsRegistry): Promise<Platform> {
  assertSecretsSet(config);
  const egress = parseEgressAllow(config.security.egress_allow);
  installRuntime(logger);
  configuredSecrets(config.callbacks, process.env);
  const etcd = createEtcd({ hosts: config.registry.etcd });
  const base = { etcd, keyPrefix: config.registry.key_prefix, tenant: DEFAULT_TENANT, logger };
  const registry = new Registry(base, {
    strictNames: config.registry.strict_names,
    breakerWindowSec: config.breaker.window_sec,
  });
  const stats = new StatsHub({ ...base, halfLifeMs: config.router.learning.half_life });
  const reliability = createReliability(config, base, {
    world: () => view.world(),
    metrics: createReliabilityMetrics(metrics),
  });
  const { breakers, ejections, retryPermits, bulkheads, census } = reliability;
  const demand = createDemand(base, { world: () => view.world(), bulkheads });
  const tree = new ReachTree(base);
  const payloads = createPayloads(config.payloads, DEFAULT_TENANT);
  const routes = new RouteTableView({ ...base, refreshIntervalMs: config.registry.refresh_interval });
  const view: RegistryView = new RegistryView({
    ...base,
    refreshIntervalMs: config.registry.refresh_interval,
    stats: stats.lookup(),
    ejections,
    breakers,
    routes,
    healthThreshold: config.registry.health_threshold,
  });
  const subscribing = createSubscriptions(config, base);
  const limits = new ConcurrencyLimits(() => view.world(), config.bulkhead);
  const agentMetrics = createAgentMetrics(metrics);
  const connections = new ConnectionLedger();
  const dispatcher = createDispatcher({
    egress,
    connectionsPerOrigin: config.adapter.connections_per_agent,
    ...countingConnections(connections, agentMetrics),
  });
  // Of their own: a health check must not wait behind calls, or a busy agent looks like a sick one.
  const probes = createDispatcher({ egress, ...countingConnections(connections, agentMetrics) });
  const prober = new HealthProber({ ...base, view, dispatcher: probes, egress });
  await stats.start();
  await demand.start();
  await reliability.start();
  await routes.start();
  await view.start();
  await subscribing.view.start();
  prober.start();
  observeRegistry(metrics, () => ({ ...view.staleness(), agents: view.world().agents.length }));

  observeReliability(metrics, () => ({
    breakers: breakers.list().map((one) => one.view),
    ejectedInstances: countEjected(view.world()),
    workers: census.count,
    degraded: Boolean(view.world().degraded),
  }));

  const decisions = createDecisionLog(config, { payloads, logger, metrics });
  const warm = createRouter(config, view, { logger, recorder: decisions.log });
  const { router } = warm;
  const tokens = new ReachTokens(await reachSecret(config, base));
  const connection = await connectTemporal(config);
  const http = new HttpAdapter({
    dispatcher,
    egress,
    readToken: readTokenOf(config),
  });
  const counting = countingConnections(connections, agentMetrics);
  const queues = new RedisStreamsAdapter({ egress, readToken: readTokenOf(config), counting });
  const eventLog = createEventLog(logger, metrics);
  const publisher = createPublisher(connection, config, { view: subscribing.view, log: eventLog });
  const publishEnd = endPublisher(publisher);
  const surroundings = { base, connection, egress, metrics, logger, env: process.env, publishEnd };
  const callbacks = await createCallbacks(config, surroundings);
  const callsUnderWay = new CallsUnderWay();
  const recordCall = (sample: CallSample) => {
    stats.record(sample);
    if (sample.outcome !== 'neutral') demand.finished(sample, sample.durationMs);
    agentMetrics.callFinished(sample.code ?? 'ok', sample.durationMs);
  };

  return {
    config,
    logger,
    registry,
    view,
    stats,
    demand,
    router,
    tokens,
    egress,
    connection,
    vectors: () => warm.vectors(),
    comparer: (options) => warm.comparer(options),
    decisions,
    connections,
    activities: {
      router,
      world: () => view.world(),
      isCutOff: () => !view.staleness().connected,
      adapters: new Map<Adapter['protocol'], Adapter>([
        ['http', http],
        ['mq', queues],
      ]),
      recordCall,
      startCall: (key) => {
        const ends = [stats.started(key), demand.started(key)];
        return () => ends.forEach((end) => end());
      },
      callsUnderWay,
      breakers,
      bulkheads,
      retryPermits,
      tree,
      cancelReach: reachCanceller(connection, config),
      startReach: countingStarts(demand, createReachStarter(connection, config)),
      reportDeliveries: eventLog.delivered,
      reportInstance: (report) => ejections.report(report),
      limitOf: (agent) => limits.of(agent),
      queueWaitMs: config.bulkhead.queue_wait,
      fastLane: new FastLane(FAST_LANE_PER_AGENT),
      tokens,
      protocolTimeoutMs: config.adapter.protocol_timeout_ms,
      payloads: payloads.payloads,
      maxResponseBytes: config.payloads.max_bytes,
      random: Math.random,
    },
    breakers,
    routes,
    deduplication: new PlatformDeduplication(base),
    tree,
    callsUnderWay,
    payloads,
    callbacks,
    subscriptions: subscribing.subscriptions,
    publisher,
    joinWorkers: () => census.start(),
    close: () =>
      stopEach([
        () => prober.stop(),
        () => probes.destroy(),
        () => reliability.stop(),
        () => stats.stop(),
        () => demand.stop(),
        () => view.stop(),
        () => routes.stop(),
        () => subscribing.view.stop(),
        () => registry.close(),
        () => http.close(),
        () => queues.close(),
        () => callbacks.close(),
        () => decisions.close(),
        () => payloads.close(),
        () => connection.close(),
        () => warm.close(),
        () => etcd.close(),
      ]),
  };
}

function countEjected({ agents }: World): number {
  return agents.flatMap(({ instances }) => instances).filter(({ ejected_until }) => ejected_until !== undefined).length;
}

function readTokenOf({ security }: Config): (name: string) => string | undefined {
  return (name) => (isTokenEnvAllowed(name, security.token_env_allow) ? process.env[name] : undefined);
}

async function reachSecret(config: Config, base: Parameters<typeof sharedSecret>[0]): Promise<Uint8Array> {
  const configured = secretOf('security.reach_token_secret_env', config);
  return configured ? Buffer.from(configured) : sharedSecret(base, 'reach-token', () => randomBytes(32));
}

import type { ConnectionOptions } from 'node:tls';
import type { NativeConnectionOptions } from '@temporalio/worker';
import type { DescriptorDraft } from '../protocol/descriptor';
import type { DeliverySemantics, EventContext, Json, JsonObject } from '../protocol/shapes';
import type { ContextHandle } from './contexts';
import type { NestedReaches } from './nested-reaches';
import type { DeduplicationStore } from './dedup/store';

/** Where an agent's log lines go; pino and Temporal's loggers fit. */
export interface AgentLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** What a handler knows of the call besides its payload. */
export interface AgentContext {
  readonly reachId: string;
  readonly messageId: string;
  readonly ability: string;
  /** Message type, `task` unless the caller said otherwise. */
  readonly type: string;
  /** 1 for the first. */
  readonly attempt: number;
  /** What is left for this attempt at the moment of reading, ms, from a monotonic clock (R25); never negative. */
  readonly deadlineMs: number;
  /** Aborts when the reach is cancelled, the deadline passes or the process shuts down: pass it to everything that waits. */
  readonly signal: AbortSignal;
  /** The same for every delivery of this message: make effects idempotent with it (R7). */
  readonly idempotencyKey: string;
  readonly sourceAgent: string;
  /** Canary group of the caller. */
  readonly group: string;
  /** The version that was asked to answer. */
  readonly version: string;
  readonly contextId: string | null;
  /** The shared context of `contextId` (R32); null without one. */
  readonly context: ContextHandle | null;
  /** Set when an event is delivered: its topic, the subscription and its CloudEvents attributes; its data is the payload. */
  readonly event?: EventContext;
  /** Grows with every attempt and redrive of this reach; 19 digits, compared as text: a later one must win (R4). */
  readonly fence: string;
  /** What the sender asked for (R4). */
  readonly deliverySemantics: DeliverySemantics;
  /** True for the marked share of traffic that tests a troubled ability (R28). */
  readonly bypass: boolean;
  /** Reaches made for this call (R10): they inherit its deadline, retries, trace and context, and are cancelled with it. */
  readonly reach: NestedReaches;
  /** W3C trace context of this attempt, for calls that the handler makes. */
  readonly traceparent: string;
  /** Lines carry the reach's id, ability and attempt. */
  readonly log: AgentLog;
}

/**
 * Does the work of one ability. Returns the agent's whole answer, a JSON object. Throw {@link AgentRejected} for a request
 * that will never work, {@link AgentBusy} to be asked again later; anything else thrown counts as a passing failure.
 */
export type AgentHandler = (payload: JsonObject, context: AgentContext) => Promise<JsonOutput> | JsonOutput;

/** Any JSON object; interfaces without an index signature fit too. */
export type JsonOutput = JsonObject | { [key: string]: Json | undefined } | object;

/** Where the agent's registration stands. */
export type Registration = 'starting' | 'registered' | 'lost' | 'superseded' | 'stopped';

/** What `ReachAgent` tells. */
export interface AgentEvents {
  /** The instance is registered for the first time. */
  registered: [lease: { epoch: string; ttlSec: number }];
  /** The lease is gone, or surely expired because the gateway is out of reach; work in hand goes on. */
  lost: [reason: string];
  /** Registered again by itself after `lost`; a new epoch unless the lease had survived after all. */
  're-registered': [lease: { epoch: string; ttlSec: number }];
  /** Another process registered this instance id: this one stops. */
  superseded: [reason: string];
  /** Something to look at that the agent survives; never thrown when nobody listens. */
  error: [error: Error];
  /** Everything has ended. */
  stopped: [];
}

/** Options of an agent that serves HTTP. */
export interface HttpHostOptions {
  /** Default 0: a free one. */
  port?: number;
  /** Address to listen on. Default 127.0.0.1. */
  bindAddress?: string;
  /** What the gateway is to call when it is not `http://bindAddress:port`, e.g. behind a proxy or in a container. */
  publicUrl?: string;
  /** Refuses calls without `Authorization: Bearer TOKEN`: the value of the descriptor's `auth.token_env`. */
  token?: string;
  /**
   * A call that takes longer is answered "accepted" after so many ms, and its result delivered when it is there (R5): no connection
   * is held for minutes, and handlers stay as they are. Their signal then aborts when the reach is over, not at the attempt's
   * deadline. Set `endpoint.ack_timeout_ms` too, so that work whose agent is lost is delivered again. Default: never.
   */
  acceptAfterMs?: number;
}

/** Where an agent's worker connects, in place of what the gateway says. */
export interface WorkerHostOptions {
  /** Temporal's front end, `host:port`. */
  address?: string;
  namespace?: string;
  /** For Temporal Cloud and other secured servers. */
  tls?: NativeConnectionOptions['tls'];
  apiKey?: NativeConnectionOptions['apiKey'];
}

/** How an agent that takes its calls from a queue reaches the queue's Redis. */
export interface QueueHostOptions {
  /** Where this process sees the broker. Default: the descriptor's `endpoint.address`. */
  address?: string;
  /** ACL user. Default: the descriptor's `endpoint.username`. */
  username?: string;
  /** The value of the descriptor's `auth.token_env`. */
  password?: string;
  /** For `rediss://` with a certificate of one's own. */
  tls?: ConnectionOptions;
  /** As {@link HttpHostOptions.acceptAfterMs}: a longer call is acknowledged and its result delivered when it is there. Default: never. */
  acceptAfterMs?: number;
}

/** Options of `ReachAgent`. */
export interface AgentOptions {
  /** The descriptor (R12): an object, or the path of a YAML or JSON file. `endpoint.protocol` is `worker`, `http` or `mq`. */
  descriptor: DescriptorDraft | string;
  /** Base URL of the gateway. */
  gateway: string;
  apiKey?: string;
  /** One handler for each ability of the descriptor, no more and no fewer. */
  handlers: Record<string, AgentHandler>;
  /** Unique among the agent's instances. Default: host, process and a random part, new for each start. */
  instanceId?: string;
  /** Calls at once. Default: the descriptor's `max_concurrency`, else 100. */
  maxConcurrency?: number;
  /** For `protocol: http`. */
  http?: HttpHostOptions;
  /** For `protocol: worker`. Default: what the gateway says about its Temporal. */
  worker?: WorkerHostOptions;
  /** For `protocol: mq`. */
  queue?: QueueHostOptions;
  /** Lease, s. Default 30; below ten heartbeats it is warned about (R13). */
  ttlSec?: number;
  /** Default 3,000 (R13). */
  heartbeatIntervalMs?: number;
  /** How long `drain` lets running calls finish, ms. Default 15,000. */
  drainTimeoutMs?: number;
  /** How long `start` waits for a gateway that is not there yet, ms. Default 60,000. */
  startTimeoutMs?: number;
  /** Replaces a registered descriptor of the same version. Default false. */
  replaceDescriptor?: boolean;
  /**
   * Where the agent's instances remember what they have done (R7). Default `platform`: the gateway's store. `off`: nowhere,
   * so that redeliveries run again and `exactly_once` is refused.
   */
  deduplication?: 'platform' | 'off' | DeduplicationStore;
  /** How long results are remembered, ms. Default and least 24 h; the platform's store keeps them for at most 30 days. */
  deduplicationTtlMs?: number;
  /** Drains on SIGTERM and SIGINT; the process then ends by itself. Default false. */
  handleSignals?: boolean;
  /** Default: pino to stderr, level `info`. */
  log?: AgentLog;
}

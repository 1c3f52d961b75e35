/** What instances send, checked field by field; messages name the field and the rule. */
import { DEFAULT_LEASE_TTL_SEC, HEARTBEAT_INTERVAL_MS } from '../../protocol/limits';
import type { AgentStatus } from '../../protocol/shapes';
import { invalidField } from '../errors';
import type { BeatRecord, InstanceRecord } from '../records';

const STATUSES: ReadonlySet<string> = new Set<AgentStatus>(['ready', 'busy', 'draining']);
const MAX_TTL_SEC = 3_600;
const MAX_COUNT = 1_000_000;
const MAX_HOST_LENGTH = 2_048;
/** R13: nine heartbeats in a row may be lost. */
const INTERVALS_PER_TTL = 10;

/** An instance that asks to be registered. */
export interface RegistrationRequest {
  /** A registered version of the agent. */
  version: string;
  /** URL that push adapters call; absent for agents that pull. */
  host?: string | null;
  /** Default 30. */
  ttl_sec?: number;
  /** Default: the descriptor's. */
  max_concurrency?: number | null;
}

/** What an instance says of itself every few seconds (R13). */
export interface HeartbeatRequest {
  epoch: string | number;
  status: AgentStatus;
  /** 0 idle, 1 full; more is overload. */
  load: number;
  in_flight?: number;
  /** Said when little time is left. Every heartbeat renews, so it changes nothing here. */
  renew?: boolean;
}

/** @throws ReachError `invalid_request` */
export function parseRegistration(
  request: RegistrationRequest,
  minTtlSec: number,
  now: Date,
): { record: InstanceRecord; warnings: string[] } {
  const ttlSec = request.ttl_sec ?? DEFAULT_LEASE_TTL_SEC;
  if (!isCount(ttlSec, minTtlSec, MAX_TTL_SEC))
    throw invalidField(
      '/ttl_sec',
      `a whole number of seconds from ${minTtlSec} to ${MAX_TTL_SEC}`,
      `use ${DEFAULT_LEASE_TTL_SEC}`,
    );
  const limit = request.max_concurrency ?? null;
  if (limit !== null && !isCount(limit, 1, MAX_COUNT))
    throw invalidField('/max_concurrency', 'a whole number from 1', 'leave it out to use the descriptor’s');
  const record = {
    version: request.version.replace(/^v(?=\d)/, ''),
    host: parseHost(request.host ?? null),
    ttl_sec: ttlSec,
    max_concurrency: limit,
    registered_at: now.toISOString(),
  };
  return { record, warnings: ttlWarning(ttlSec) };
}

/** @throws ReachError `invalid_request` */
export function parseHeartbeat({
  status,
  load,
  in_flight: inFlight = 0,
}: HeartbeatRequest): Omit<BeatRecord, 'since' | 'last_heartbeat'> {
  if (!STATUSES.has(status))
    throw invalidField('/status', 'ready, busy or draining', 'report what the instance can take now');
  if (!Number.isFinite(load) || load < 0 || load > MAX_COUNT)
    throw invalidField('/load', 'a number from 0 (idle) upwards; 1 is full', 'use in_flight / max_concurrency');
  if (!isCount(inFlight, 0, MAX_COUNT))
    throw invalidField('/in_flight', 'a whole number from 0', 'count the calls being worked on');
  return { status, load, in_flight: inFlight };
}

/** Accepts a string of digits or a safe integer. @throws ReachError `invalid_request` */
export function parseEpoch(epoch: unknown): string {
  if (typeof epoch === 'string' && /^\d{1,19}$/.test(epoch)) return epoch.replace(/^0+(?=\d)/, '');
  if (typeof epoch === 'number' && Number.isSafeInteger(epoch) && epoch >= 0) return String(epoch);
  throw invalidField('/epoch', 'the digits that registering answered', 'register the instance and use its epoch');
}

function parseHost(host: string | null): string | null {
  if (host === null) return null;
  const url = host.length <= MAX_HOST_LENGTH && URL.canParse(host) ? new URL(host) : null;
  if (url === null || url.host === '' || url.username !== '' || url.password !== '') {
    throw invalidField('/host', 'an absolute URL without credentials', 'use for example http://10.0.0.5:8000/invoke');
  }
  return host;
}

function ttlWarning(ttlSec: number): string[] {
  const wanted = (INTERVALS_PER_TTL * HEARTBEAT_INTERVAL_MS) / 1_000;
  return ttlSec >= wanted
    ? []
    : [
        `ttl_sec ${ttlSec} is less than ten heartbeat intervals; use ${wanted} or a few lost heartbeats end the registration`,
      ];
}

function isCount(value: unknown, min: number, max: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max;
}

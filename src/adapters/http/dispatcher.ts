import { lookup as dnsLookup, type LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { Agent } from 'undici';
import { isAddressAllowed, type EgressPolicy } from '../../policy/egress';

/** Settings of the outbound connection pool. */
export interface DispatcherOptions {
  egress: EgressPolicy;
  /** Connections kept per origin; default 64. */
  connectionsPerOrigin?: number;
  connectTimeoutMs?: number;
  /** Called for every new connection, so that reuse can be measured (R39). */
  onConnect?: (origin: string) => void;
}

/**
 * A pooled undici Agent that connects only where the egress policy allows. Names are resolved once and the
 * very addresses that were checked are connected to, so a second DNS answer cannot slip in between.
 * Literal addresses never reach a lookup: whoever builds the URL checks it with `assertUrlAllowed`.
 */
export function createDispatcher(options: DispatcherOptions): Agent {
  const agent = new Agent({
    connections: options.connectionsPerOrigin ?? 64,
    pipelining: 1,
    keepAliveTimeout: 10_000,
    connect: { timeout: options.connectTimeoutMs ?? 2_000, lookup: guardedLookup(options.egress) },
  });
  if (options.onConnect) agent.on('connect', (origin) => options.onConnect?.(origin.origin));
  return agent;
}

/** Thrown inside a lookup when every address of a name is forbidden. */
export class EgressForbiddenError extends Error {
  readonly code = 'EGRESS_FORBIDDEN';
}

function guardedLookup(egress: EgressPolicy): LookupFunction {
  return (hostname, options, callback) => {
    dnsLookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, '');
      const trusted = egress.hosts.has(hostname.toLowerCase());
      const allowed = (addresses as LookupAddress[]).filter(
        ({ address }) => trusted || isAddressAllowed(address, egress),
      );
      const [first] = allowed;
      if (!first)
        return callback(new EgressForbiddenError(`${hostname} resolves only to addresses that are not allowed`), '');
      if (options.all) return callback(null, allowed as never);
      return callback(null, first.address, first.family);
    });
  };
}

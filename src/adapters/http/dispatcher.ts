import { lookup as dnsLookup, type LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { Agent, type Dispatcher } from 'undici';
import { isAddressAllowed, type EgressPolicy } from '../../policy/egress';

/** Settings of the outbound connection pool. */
export interface DispatcherOptions {
  egress: EgressPolicy;
  /**
   * Most connections to one origin; default: as many as there are requests. Requests beyond it wait unsent, so whoever sets it
   * lets no more of them come.
   */
  connectionsPerOrigin?: number | undefined;
  connectTimeoutMs?: number;
  /** Called for every new connection, so that reuse can be measured (R39). */
  onConnect?: (origin: string) => void;
  /** Called for every connect that failed. */
  onConnectFailed?: (origin: string) => void;
  /** Called for every request, health checks as well: what connections are compared with. */
  onRequest?: (origin: string) => void;
}

/** An Agent that tells of its requests. */
class CountingAgent extends Agent {
  constructor(
    options: Agent.Options,
    private readonly onRequest: (origin: string) => void,
  ) {
    super(options);
  }

  override dispatch(options: Agent.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    this.onRequest(String(options.origin));
    return super.dispatch(options, handler);
  }
}

/**
 * A pooled undici Agent that connects only where the egress policy allows. Names are resolved once and the
 * very addresses that were checked are connected to, so a second DNS answer cannot slip in between.
 * Literal addresses never reach a lookup: whoever builds the URL checks it with `assertUrlAllowed`.
 */
export function createDispatcher(options: DispatcherOptions): Agent {
  const settings: Agent.Options = {
    connections: options.connectionsPerOrigin ?? null,
    pipelining: 1,
    keepAliveTimeout: 10_000,
    connect: { timeout: options.connectTimeoutMs ?? 2_000, lookup: guardedLookup(options.egress) },
  };
  const agent = options.onRequest ? new CountingAgent(settings, options.onRequest) : new Agent(settings);
  if (options.onConnect) agent.on('connect', (origin) => options.onConnect?.(origin.origin));
  if (options.onConnectFailed) agent.on('connectionError', (origin) => options.onConnectFailed?.(origin.origin));
  return agent;
}

/** Thrown inside a lookup when every address of a name is forbidden. */
export class EgressForbiddenError extends Error {
  readonly code = 'EGRESS_FORBIDDEN';
}

/** Resolves names to allowed addresses only; whoever connects takes these very ones. */
export function guardedLookup(egress: EgressPolicy): LookupFunction {
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

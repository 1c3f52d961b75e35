import { Etcd3, EtcdLeaseInvalidError, RecoverableError, type IOptions } from 'etcd3';
import { ReachError } from '../../protocol/reach-error';

/** Longest a single etcd call may take before it counts as unavailable, milliseconds. */
export const ETCD_CALL_TIMEOUT_MS = 3_000;

/** How to reach etcd. */
export interface EtcdClientOptions {
  /** `host:port` or `https://host:port`, one or several members of one cluster. */
  hosts: string | string[];
  auth?: { username: string; password: string };
  /** PEM documents for TLS; without them `https:` hosts use the system's roots. */
  credentials?: IOptions['credentials'];
  /** Longest one call may take. Default {@link ETCD_CALL_TIMEOUT_MS}. */
  callTimeoutMs?: number;
}

/** An IPolicy of cockatiel that adds nothing. `execute` must be asynchronous: etcd3 throws inside and expects a rejection. */
const passThrough = {
  execute: async <T>(run: (context: { signal: AbortSignal }) => PromiseLike<T> | T, signal?: AbortSignal): Promise<T> =>
    run({ signal: signal ?? new AbortController().signal }),
  onSuccess: () => ({ dispose: () => undefined }),
  onFailure: () => ({ dispose: () => undefined }),
};

/**
 * The policy of one host. After a call that got no answer the library drops the host's connections and makes new ones.
 * That is the only way out of one that was accepted and then never spoken on (a proxy whose backend died): gRPC waits
 * for its first byte for ever. Done for each of a hundred calls that fail together it would flood an etcd that is about
 * to come back, so it is done at most once per `everyMs`.
 */
function reconnectSeldom(everyMs: number) {
  let lastMs = Number.NEGATIVE_INFINITY;
  const execute: (typeof passThrough)['execute'] = async (run, signal) => {
    try {
      return await passThrough.execute(run, signal);
    } catch (error) {
      if (typeof error === 'object' && error !== null && RecoverableError in error) {
        if (performance.now() - lastMs < everyMs) delete error[RecoverableError];
        else lastMs = performance.now();
      }
      throw error;
    }
  };
  return { ...passThrough, execute };
}
type FaultHandling = NonNullable<IOptions['faultHandling']>;

/**
 * An etcd client that fails fast and comes back by itself.
 *
 * etcd3's defaults do neither: each call is tried four times, a per-host circuit breaker then refuses calls for
 * 5 s after etcd is back, and gRPC waits up to two minutes between connection attempts. Here a call is tried
 * once, within `callTimeoutMs`; reconnection backs off to 1 s at most, and a connection on which nothing is answered is
 * replaced; whoever wants a retry decides that itself.
 */
export function createEtcd({
  hosts,
  auth,
  credentials,
  callTimeoutMs = ETCD_CALL_TIMEOUT_MS,
}: EtcdClientOptions): Etcd3 {
  return new Etcd3({
    hosts,
    ...(auth && { auth }),
    ...(credentials && { credentials }),
    grpcOptions: {
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.min_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 1_000,
      // Finds half-open connections. etcd refuses clients that ping more often than every 5 s.
      'grpc.keepalive_time_ms': 10_000,
      'grpc.keepalive_timeout_ms': 3_000,
      // Or a new connection would be the same one again, hanging or not.
      'grpc.use_local_subchannel_pool': 1,
      // The default of 4 MiB would cut off a page of large descriptors.
      'grpc.max_receive_message_length': -1,
    },
    // gRPC deadlines are absolute by its API; the clock is read anew for each call.
    defaultCallOptions: ({ isStream }) =>
      isStream ? {} : { deadline: new Date(new Date().getTime() + callTimeoutMs) },
    faultHandling: {
      host: () => reconnectSeldom(callTimeoutMs) as unknown as ReturnType<FaultHandling['host'] & object>,
      global: passThrough as unknown as NonNullable<FaultHandling['global']>,
    },
  });
}

/** True when etcd says that a lease does not exist (any more). */
export function isLeaseGone(caught: unknown): boolean {
  return caught instanceof EtcdLeaseInvalidError;
}

/**
 * True when etcd refused a write because its quota is used up. It then still reads, deletes and renews leases; puts and
 * new leases are refused until somebody compacts, defragments and disarms the alarm.
 */
export function isOutOfSpace(caught: unknown): boolean {
  return caught instanceof Error && caught.message.includes('database space exceeded');
}

/**
 * Runs etcd calls and turns their failures into `engine_unavailable`; a ReachError thrown inside passes through.
 *
 * @param what what was being done, for people: "registering agent refund"
 * @throws ReachError `engine_unavailable`
 */
export async function callEtcd<T>(what: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (caught) {
    throw unavailable(what, caught);
  }
}

function unavailable(what: string, caught: unknown): ReachError {
  if (caught instanceof ReachError) return caught;
  if (caught instanceof TypeError || caught instanceof RangeError) return ReachError.from(caught);
  const advice = isOutOfSpace(caught)
    ? 'etcd is out of space: compact, defragment and disarm its alarm'
    : 'check that etcd answers at the hosts of `registry.etcd`; GET /readyz tells when it is back';
  return new ReachError('engine_unavailable', `etcd could not be used while ${what}; ${advice}`, {
    cause: caught,
    retryAfterMs: 1_000,
  });
}

/** How a descriptor says where its queue is, and what is wrong with it (R12, R37). No run-time dependency. */
import type { Descriptor } from './descriptor';
import type { FieldError } from './reach-error';
import { agentTaskQueue } from './worker-wire';

/** Where the calls of an agent wait. */
export interface QueuePlace {
  /** `redis://host:port/db`, or `rediss://` for TLS. */
  address: string;
  /** The stream. */
  queue: string;
  /** ACL user; the password is the token of the descriptor's `auth`. */
  username: string | undefined;
}

/** The queue of an agent; null for other protocols. Without a name it is that of the version, so that versions never take each other's work. */
export function queuePlace({ name, version, endpoint }: Descriptor): QueuePlace | null {
  if (endpoint?.protocol !== 'mq' || typeof endpoint.address !== 'string') return null;
  const { address, username } = endpoint;
  return { address, queue: endpoint.queue ?? agentTaskQueue({ name, version }), username };
}

/** What is wrong with an endpoint's queue, by JSON pointer; nothing for other protocols that name none. */
export function queueFindings({ endpoint }: Pick<Descriptor, 'endpoint'>): FieldError[] {
  if (endpoint === undefined) return [];
  if (endpoint.protocol === 'mq') return addressFindings(endpoint.address);
  return (['queue', 'username', 'consumers'] as const).flatMap((key) =>
    endpoint[key] === undefined
      ? []
      : [{ pointer: `/endpoint/${key}`, message: 'is for protocol mq', fix: `drop it, or set protocol: mq` }],
  );
}

const EXAMPLE = 'redis://10.0.0.6:6379/0';

function addressFindings(address: string | string[] | undefined): FieldError[] {
  const finding = (message: string, fix: string) => [{ pointer: '/endpoint/address', message, fix }];
  if (address === undefined) return finding('is missing: a queue lives in a Redis', `name it, such as ${EXAMPLE}`);
  if (typeof address !== 'string')
    return finding('is a list: a queue lives in one Redis', `name one, such as ${EXAMPLE}`);
  const url = URL.canParse(address) ? new URL(address) : null;
  if (!url || !['redis:', 'rediss:'].includes(url.protocol) || url.hostname === '')
    return finding('is not the address of a Redis', `write redis://HOST:PORT/DB, or rediss:// for TLS`);
  if (url.username !== '' || url.password !== '')
    return finding(
      'must not carry credentials: descriptors are shown to people',
      'set auth: {type: static_token, token_env: NAME} for the password, and endpoint.username for a user',
    );
  if (url.search !== '' || url.hash !== '')
    return finding('has more than host, port and database', 'drop what follows');
  if (!/^\/?$|^\/\d{1,4}$/.test(url.pathname))
    return finding(`names the database ${url.pathname.slice(1)}`, 'use its number, such as /0');
  return [];
}

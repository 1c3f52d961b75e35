import { randomUUID } from 'node:crypto';
import { assertBrokerAllowed, type EgressPolicy } from '../../policy/egress';
import type { Descriptor } from '../../protocol/descriptor';
import { queuePlace } from '../../protocol/queue-endpoint';
import { ReachError } from '../../protocol/reach-error';
import { capabilityOf } from '../../protocol/routed-target';
import type { AgentCall } from '../../protocol/shapes';
import type { Adapter, AdapterAnswer, AdapterContext, AdapterTarget } from '../adapter';
import { BrokerLink, type Counting } from './broker-link';
import { QueueCall } from './queue-call';

/** What the adapter needs from its surroundings. */
export interface RedisStreamsAdapterOptions {
  egress: EgressPolicy;
  /** Reads a token from the environment by name (`auth.token_env`); undefined when it is not set or not allowed. */
  readToken: (name: string) => string | undefined;
  /** Counts calls, connections and failed connects by `redis://host:port`, so that a broker that is away shows (R39). */
  counting?: Counting;
  /** Connections that no call has used for so long are closed, ms; default 600,000. */
  idleMs?: number;
}

const IDLE_MS = 600_000;

/**
 * Speaks to agents through a queue on Redis Streams: publishes one message for each attempt and waits for its reply. Which instance
 * takes it is the queue's business; while the attempt lasts, a message whose holder dies is given to another one, with the same
 * key. See `protocol/queue-wire`.
 */
export class RedisStreamsAdapter implements Adapter {
  readonly protocol = 'mq' as const;
  readonly #links = new Map<string, { link: BrokerLink; usedMs: number }>();

  readonly #idleMs: number;
  readonly #tidying: NodeJS.Timeout;

  constructor(private readonly options: RedisStreamsAdapterOptions) {
    this.#idleMs = options.idleMs ?? IDLE_MS;
    // A broker that is gone for good would be called again and again, if nothing but the next new one ended that.
    this.#tidying = setInterval(() => this.#closeIdle(), this.#idleMs / 2).unref();
  }

  async invoke(call: AgentCall, { descriptor }: AdapterTarget, context: AdapterContext): Promise<AdapterAnswer> {
    const place = queuePlace(descriptor);
    if (!place)
      throw new ReachError('agent_protocol_error', `Agent ${descriptor.name} names no queue; set endpoint.address`, {
        received: 'no',
      });
    const link = this.#linkTo(descriptor, place);
    const { payload, ...rest } = call;
    const message = {
      id: randomUUID(),
      replyTo: link.replyTo,
      once: isForOnce(call, descriptor),
      traceparent: context.traceparent,
      reachToken: context.reachToken,
      call: context.payload ? rest : { ...rest, payload },
    };
    const agentName = descriptor.name;
    return new QueueCall({ link, queue: place.queue, agentName, message, context }).run();
  }

  async close(): Promise<void> {
    clearInterval(this.#tidying);
    await Promise.all([...this.#links.values()].map(({ link }) => link.close()));
    this.#links.clear();
  }

  #linkTo(
    descriptor: Descriptor,
    { address, username }: { address: string; username: string | undefined },
  ): BrokerLink {
    const { egress, counting = {} } = this.options;
    const place = assertBrokerAllowed(address, egress, `agent ${descriptor.name}`);
    const password = this.#password(descriptor);
    const key = JSON.stringify([place, username, password]);
    const known = this.#links.get(key);
    const link = known?.link ?? new BrokerLink({ place, username, password, egress, counting });
    this.#links.set(key, { link, usedMs: performance.now() });
    return link;
  }

  #closeIdle(): void {
    for (const [key, { link, usedMs }] of this.#links) {
      if (link.waiting > 0 || performance.now() - usedMs < this.#idleMs) continue;
      this.#links.delete(key);
      void link.close();
    }
  }

  #password({ auth, name }: Descriptor): string | undefined {
    if (auth.type !== 'static_token') return undefined;
    const token = this.options.readToken(auth.token_env);
    if (token) return token;
    throw new ReachError(
      'agent_auth_unconfigured',
      `The queue of agent ${name} needs the password in ${auth.token_env}, which is not set here; set it for the worker and allow it in security.token_env_allow`,
      { received: 'no' },
    );
  }
}

/** What may not be sent twice is not given out twice either. */
function isForOnce({ delivery_semantics: semantics, ability }: AgentCall, descriptor: Descriptor): boolean {
  return semantics === 'at_most_once' || capabilityOf(descriptor, ability)?.idempotent === false;
}

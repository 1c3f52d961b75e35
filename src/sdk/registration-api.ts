import type { DescriptorDraft } from '../protocol/descriptor';
import type { AgentStatus } from '../protocol/shapes';
import type { Transport } from './transport';

/** Where agents that run as Temporal workers find their work. */
export interface WorkerAddress {
  /** Temporal's front end, `host:port`. */
  address: string;
  namespace: string;
  task_queue: string;
}

/** The answer to an instance's registration. */
export interface LeaseAnswer {
  lease_id: string;
  /** Digits; greater than that of any earlier registration of this instance. */
  epoch: string | number;
  ttl_sec: number;
  /** For agents whose `endpoint.protocol` is `worker`. */
  worker?: WorkerAddress;
}

/** What an instance says of itself when it registers. */
export interface InstanceRegistration {
  version: string;
  /** The URL to call; absent for agents that pull. */
  host?: string;
  ttl_sec: number;
  max_concurrency: number;
}

/** What a heartbeat carries, so that routing sees now and not registration day (R13). */
export interface HeartbeatBody {
  epoch: string;
  status: AgentStatus;
  load: number;
  in_flight: number;
  renew?: true;
}

const REGISTER_TIMEOUT_MS = 10_000;
const DEREGISTER_TIMEOUT_MS = 3_000;

/** The registry's part of the gateway's API as one instance uses it. Nothing is repeated here: the lease keeper does that. */
export class RegistrationApi {
  constructor(
    private readonly transport: Transport,
    private readonly agent: { name: string; instanceId: string },
  ) {}

  /** Registers the descriptor; the same content again changes nothing. */
  async putDescriptor(
    source: string | DescriptorDraft,
    options: { replace: boolean; signal: AbortSignal },
  ): Promise<void> {
    const query = { replace: options.replace || undefined };
    await this.transport.request({
      method: 'POST',
      path: '/v1/agents',
      query,
      body: source,
      signal: options.signal,
      timeoutMs: REGISTER_TIMEOUT_MS,
      retry: 'never',
    });
  }

  /** Registers the instance anew: a new lease and a greater epoch. */
  async putInstance(body: InstanceRegistration, signal: AbortSignal): Promise<LeaseAnswer> {
    const answer = await this.transport.request<LeaseAnswer>({
      method: 'PUT',
      path: this.#path(),
      body,
      signal,
      timeoutMs: REGISTER_TIMEOUT_MS,
      retry: 'never',
    });
    return answer.body;
  }

  /** Sends one heartbeat; what is left of the lease, s. Throws `lease_expired`, `not_found` or `stale_epoch`. */
  async heartbeat(body: HeartbeatBody, limits: { timeoutMs: number; signal: AbortSignal }): Promise<number> {
    const answer = await this.transport.request<{ remaining_sec: number }>({
      method: 'POST',
      path: `${this.#path()}/heartbeat`,
      body,
      ...limits,
      retry: 'never',
    });
    return answer.body.remaining_sec;
  }

  /** Takes the instance out of the registry, if `epoch` is still the current one. */
  async deleteInstance(epoch: string): Promise<void> {
    await this.transport.request({
      method: 'DELETE',
      path: this.#path(),
      query: { epoch },
      timeoutMs: DEREGISTER_TIMEOUT_MS,
      retry: 'unsent',
    });
  }

  #path(): string {
    return `/v1/agents/${encodeURIComponent(this.agent.name)}/instances/${encodeURIComponent(this.agent.instanceId)}`;
  }
}

import type { DescriptorDraft } from '../protocol/descriptor';
import type { CallRunner } from './call-runner';
import type { Beat } from './heartbeat-schedule';
import type { KeptLease, LeaseApi } from './lease-keeper';
import type { InstanceRegistration, RegistrationApi, WorkerAddress } from './registration-api';

/** What an instance registers, and what its heartbeats are made of. */
export interface InstanceLeaseParts {
  api: RegistrationApi;
  /** The descriptor as it is written. */
  source: string | DescriptorDraft;
  replaceDescriptor: boolean;
  /** Read anew for each registration: the URL is known only once the agent listens. */
  instance: () => InstanceRegistration;
  runner: CallRunner;
}

/** The lease keeper's view of one agent: a registration is descriptor and instance, a heartbeat is what the runner says. */
export class InstanceLease implements LeaseApi {
  #workerAt: WorkerAddress | undefined;

  constructor(private readonly parts: InstanceLeaseParts) {}

  /** Where Temporal is, as the last registration said. */
  get workerAt(): WorkerAddress | undefined {
    return this.#workerAt;
  }

  /** The descriptor goes along each time: a registry that lost the instance may have lost that too. */
  async register(signal: AbortSignal): Promise<KeptLease> {
    const { api, source, replaceDescriptor: replace, instance } = this.parts;
    await api.putDescriptor(source, { replace, signal });
    const answer = await api.putInstance(instance(), signal);
    this.#workerAt = answer.worker;
    return { epoch: String(answer.epoch), ttlSec: answer.ttl_sec };
  }

  /** One heartbeat with the state of this moment. */
  beat(epoch: string, { renew, timeoutMs }: Beat, signal: AbortSignal): Promise<number> {
    const { status, load, inFlight } = this.parts.runner;
    const body = { epoch, status, load, in_flight: inFlight, ...(renew && { renew: true as const }) };
    return this.parts.api.heartbeat(body, { timeoutMs, signal });
  }
}

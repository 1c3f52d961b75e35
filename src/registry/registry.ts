import type { Etcd3 } from 'etcd3';
import type { Descriptor } from '../protocol/descriptor';
import { systemClock, type Clock } from './clock';
import { DescriptorStore, type DescriptorOutcome, type RegisterOptions } from './catalogue/descriptor-store';
import type { RemovedVersion } from './catalogue/version-removal';
import type { HeartbeatRequest, RegistrationRequest } from './instances/instance-input';
import { InstanceStore, type Registration } from './instances/instance-store';
import { Keyspace } from './keys';
import { LeaseKeeper } from './etcd/lease-keeper';
import type { Logger } from './logger';

/** Where all keys lie unless configured otherwise. */
export const DEFAULT_KEY_PREFIX = '/agent-reach';

/** What every part of the registry is built from. One set per tenant; the client may be shared. */
export interface RegistryOptions {
  /** Made by {@link createEtcd}, whose settings the time limits rely on. */
  etcd: Etcd3;
  /** Default {@link DEFAULT_KEY_PREFIX}. */
  keyPrefix?: string;
  tenant: string;
  logger: Logger;
  clock?: Clock;
}

/** Rules for what may be registered. */
export interface RegistryRules {
  /** R15: refuse ability names that are near a known one. Default false: warn. */
  strictNames?: boolean;
  /** `breaker.window_sec`, for the warning about slow health checks (R39). Default 120. */
  breakerWindowSec?: number;
  /** Shortest lease an instance may ask for, seconds. Default 5. */
  minTtlSec?: number;
}

/**
 * Writes to the registry (R11, R13, R15): descriptors, instances, heartbeats. Reading is {@link RegistryView}'s.
 * Every method fails with `engine_unavailable` within about 3 s when etcd does not answer.
 */
export class Registry {
  private readonly descriptors: DescriptorStore;
  private readonly instances: InstanceStore;
  private readonly keeper: LeaseKeeper;

  constructor(
    { etcd, keyPrefix = DEFAULT_KEY_PREFIX, tenant, logger, clock = systemClock }: RegistryOptions,
    rules: RegistryRules = {},
  ) {
    const { strictNames = false, breakerWindowSec = 120, minTtlSec = 5 } = rules;
    const keys = new Keyspace(keyPrefix, tenant);
    this.keeper = new LeaseKeeper(etcd);
    this.descriptors = new DescriptorStore({ etcd, keys, logger, clock, strictNames, breakerWindowSec });
    this.instances = new InstanceStore({ etcd, keys, logger, clock, keeper: this.keeper, minTtlSec });
  }

  /** {@inheritDoc DescriptorStore.register} */
  registerDescriptor(descriptor: Descriptor, options?: RegisterOptions): Promise<DescriptorOutcome> {
    return this.descriptors.register(descriptor, options);
  }

  /** {@inheritDoc DescriptorStore.delete} */
  deleteAgent(name: string): Promise<boolean> {
    return this.descriptors.delete(name);
  }

  /** {@inheritDoc removeVersion} */
  deleteVersion(name: string, version: string): Promise<RemovedVersion | null> {
    return this.descriptors.deleteVersion(name, version);
  }

  /** {@inheritDoc InstanceStore.register} */
  registerInstance(name: string, instanceId: string, request: RegistrationRequest): Promise<Registration> {
    return this.instances.register(name, instanceId, request);
  }

  /** {@inheritDoc InstanceStore.heartbeat} */
  heartbeat(name: string, instanceId: string, request: HeartbeatRequest): Promise<{ remaining_sec: number }> {
    return this.instances.heartbeat(name, instanceId, request);
  }

  /** {@inheritDoc InstanceStore.deregister} */
  deregister(name: string, instanceId: string, epoch: string | number): Promise<boolean> {
    return this.instances.deregister(name, instanceId, epoch);
  }

  /** Ends the keep-alive stream. Registrations stay until their leases end. */
  close(): void {
    this.keeper.close();
  }
}

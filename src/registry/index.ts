/**
 * The registry on etcd (R11, R13–R18): {@link Registry} writes, {@link RegistryView} reads, {@link StatsHub} shares measured
 * behaviour, {@link HealthProber} finds out who can really take work.
 */
export { BreakerHub, type BreakerEntry, type BreakerHubOptions, type OverrideRequest } from './breakers';
export { systemClock, type Clock } from './clock';
export { DeduplicationRecords, PlatformDeduplication } from './deduplication';
export type { DescriptorOutcome } from './catalogue/descriptor-store';
export type { RemovedVersion } from './catalogue/version-removal';
export { createEtcd } from './etcd/etcd-client';
export { HealthProber } from './health/health-prober';
export type { HeartbeatRequest, RegistrationRequest } from './instances/instance-input';
export type { Registration } from './instances/instance-store';
export {
  Ejections,
  type Ejection,
  type EjectionLookup,
  type EjectionsOptions,
  type InstanceReport,
} from './limits/ejections';
export { RetryPermits, type PermitRequest, type RetryPermit, type RetryPermitsOptions } from './limits/retry-permits';
export { WorkerCensus, type WorkerCensusOptions } from './limits/worker-census';
export type { Logger } from './logger';
export { Registry, type RegistryOptions } from './registry';
export { RegistryView, type RegistryViewOptions } from './view/registry-view';
export { AlertClaims, RouteTableStore, RouteTableView, TrialStore, type StoredTable, type TableChange } from './routes';
export type { Counted } from './stats/counted';
export { sharedSecret } from './shared-secret';
export type { SampleKey } from './stats/local-stats';
export type { SampleOutcome } from './stats/series';
export { CallsUnderWay } from './tree/calls-under-way';
export { ReachTree, type Child, type Joining, type TreeRetry } from './tree/reach-tree';
export { DemandHub, type AgentDemand, type DemandKey, type DemandLookup, type MeasuredDemand } from './stats/demand';
export { StatsHub } from './stats/stats-hub';
export { SubscriptionStore, SubscriptionView, type PutOutcome } from './subscriptions';

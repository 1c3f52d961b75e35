/** Circuit breakers shared by all processes through etcd (R28). */
export { BreakerHub, type BreakerEntry, type BreakerHubOptions } from './breaker-hub';
export type { OverrideRequest } from './overrides';

/** The Context Store (R32): shared fields by `context_id`, apart from messages, with versions, on etcd; large values in blobs. */
export type { ClaimSettings } from './claim-reader';
export { ClaimSweep, type ClaimSweepOptions, type Swept } from './claim-sweep';
export { ContextStore, type ContextStoreOptions, type PatchRequest } from './context-store';
export { LargeContext } from './large-context';

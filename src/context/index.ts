/** The Context Store (R32): shared fields by `context_id`, apart from messages, with versions, on etcd. */
export { ContextStore, type ContextStoreOptions, type PatchRequest } from './context-store';

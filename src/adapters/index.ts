export type { Adapter, AdapterAnswer, AdapterContext, AdapterTarget } from './adapter';
export { createDispatcher } from './http/dispatcher';
export { HttpAdapter } from './http/http-adapter';

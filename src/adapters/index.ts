export type { Adapter, AdapterAnswer, AdapterContext, AdapterTarget } from './adapter';
export { CallbackPoster } from './http/callback-post';
export { createDispatcher } from './http/dispatcher';
export { HttpAdapter } from './http/http-adapter';

export type { Adapter, AdapterAnswer, AdapterContext, AdapterTarget } from './adapter';
export { ConnectionLedger } from './http/connection-ledger';
export { CallbackPoster } from './http/callback-post';
export { createDispatcher } from './http/dispatcher';
export { HttpAdapter } from './http/http-adapter';
export { RedisStreamsAdapter } from './redis-streams/redis-streams-adapter';

/** The route table: how the versions of agents share the calls of a caller group (R21). */
import { ReachError } from '../protocol/reach-error';
import type { RouteEntry } from '../protocol/route-table';
import type { RouteTableWritten } from '../protocol/route-table-schema';
import type { RequestOptions } from './client-types';
import type { Transport, TransportCall } from './transport';

export type { RouteEntry } from '../protocol/route-table';
export type { RouteTableWritten } from '../protocol/route-table-schema';

/** Most time for one request, ms. */
const REQUEST_TIMEOUT_MS = 20_000;
/** Writers that meet so often in a row are no race any more. */
const MAX_TRIES = 5;

/** The table with its `etag`, to be given back as `ifMatch` when it is written. */
export interface RoutesAnswer {
  routes: RouteEntry[];
  etag: string;
}

/** Conditions of a write. `ifMatch`: the table still has this etag. `ifNoneMatch`: `*`, nobody has ever written it. */
export interface RoutesWriteOptions extends RequestOptions {
  ifMatch?: string;
  ifNoneMatch?: '*';
}

/** The route table behind one gateway. Every method throws {@link ReachError}. */
export class RoutesClient {
  constructor(private readonly transport: Transport) {}

  /** The whole table as etcd has it. */
  async get(options: RequestOptions = {}): Promise<RoutesAnswer> {
    const { body, etag } = await this.#call<{ routes: RouteEntry[] }>({ method: 'GET', retry: 'always', ...options });
    return { ...body, etag: etag ?? '' };
  }

  /**
   * Puts a whole table in the place of the one there is.
   * @throws ReachError `weights_invalid`; `invalid_request`; `context_conflict` when the condition does not hold (412)
   */
  async put(
    routes: readonly RouteEntry[],
    { ifMatch, ifNoneMatch, ...options }: RoutesWriteOptions = {},
  ): Promise<RouteTableWritten & { etag: string }> {
    const headers = {
      ...(ifMatch !== undefined && { 'if-match': ifMatch }),
      ...(ifNoneMatch && { 'if-none-match': '*' }),
    };
    // A conditional write that was lost on the way would meet its own effect when it is repeated.
    const retry = ifMatch === undefined && ifNoneMatch === undefined ? 'always' : 'never';
    const call = { method: 'PUT', body: { routes }, headers, retry, ...options } as const;
    const { body, etag } = await this.#call<RouteTableWritten>(call);
    return { ...body, etag: etag ?? '' };
  }

  /** Changes the table as it is; when others write meanwhile, `change` is asked again about what they wrote. */
  async update(
    change: (routes: readonly RouteEntry[]) => readonly RouteEntry[],
    options: RequestOptions = {},
  ): Promise<RouteTableWritten & { etag: string }> {
    for (let n = 1; ; n += 1) {
      const { routes, etag } = await this.get(options);
      try {
        return await this.put(change(routes), { ...options, ifMatch: etag });
      } catch (caught) {
        const lost = caught instanceof ReachError && caught.code === 'context_conflict';
        if (!lost || n === MAX_TRIES) throw caught;
      }
    }
  }

  #call<T>(call: Omit<TransportCall, 'timeoutMs' | 'path'>) {
    return this.transport.request<T>({ timeoutMs: REQUEST_TIMEOUT_MS, path: '/v1/routes', ...call });
  }
}

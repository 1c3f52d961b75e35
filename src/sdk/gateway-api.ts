/** What the parts of the client share: how a gateway is asked, how things are named in paths, how lists are read to their end. */
import { ReachError } from '../protocol/reach-error';
import type { Transport, TransportCall } from './transport';
import type { Page } from './wire-types';

/** Items that {@link allPages} asks for at a time. */
const PAGE = 200;

/** What is said of an empty name, where it may be one or an id. */
export const NAMELESS = 'An empty id or name names nothing; pass the one you were given';

/** A request whose time limit may be the one of its {@link GatewayApi}. */
export type GatewayCall = Omit<TransportCall, 'timeoutMs'> & { timeoutMs?: number };

/** Requests to one gateway that take about equally long; each answers the body of the response. */
export class GatewayApi {
  /** @param timeoutMs for one request, repeats included, where the call says no other */
  constructor(
    private readonly transport: Transport,
    private readonly timeoutMs: number,
  ) {}

  /** Reads; sent again when it was lost. */
  get<T>(path: string, options: Partial<TransportCall> = {}): Promise<T> {
    return this.call<T>({ method: 'GET', path, retry: 'always', ...options });
  }

  /** @throws ReachError for every answer but 2xx; `engine_unavailable` when the gateway cannot be reached */
  async call<T>(call: GatewayCall): Promise<T> {
    const { body } = await this.transport.request<T>({ timeoutMs: this.timeoutMs, ...call });
    return body;
  }
}

/** An id as a path segment; an empty one would ask for something else, often the whole list. @throws ReachError `invalid_request` */
export function pathSegment(id: string, refusal = 'An empty id names nothing; pass the one you were given'): string {
  if (id === '') throw new ReachError('invalid_request', refusal);
  return encodeURIComponent(id);
}

/** All items of a list, page by page; pages may be short or empty before the last. */
export async function* allPages<T>(
  list: (at: { cursor: string | undefined; limit: number }) => Promise<Page<T>>,
): AsyncGenerator<T> {
  let cursor: string | undefined;
  do {
    const page = await list({ cursor, limit: PAGE });
    yield* page.items;
    cursor = page.next_cursor;
  } while (cursor !== undefined);
}

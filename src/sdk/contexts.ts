/** Shared contexts for programs and for the CLI (R32): fields with versions, apart from messages. */
import type { Context, ContextOperation, ContextPatched, FieldVersion } from '../protocol/context';
import { ReachError } from '../protocol/reach-error';
import type { Json, JsonObject } from '../protocol/shapes';
import type { RequestOptions } from './client-types';
import { operationsOf, type ContextUpdate } from './context-draft';
import { GatewayApi, pathSegment } from './gateway-api';
import { sleep } from './time';
import type { Transport } from './transport';

export type {
  Context,
  ContextConflict,
  ContextField,
  ContextOperation,
  ContextPatched,
  FieldVersion,
} from '../protocol/context';
export type { ContextChange, ContextUpdate, ContextView } from './context-draft';

/** Most time for one request, ms. */
const REQUEST_TIMEOUT_MS = 10_000;
/** Tries of an update; each that fails means that somebody else's succeeded. */
const MAX_ATTEMPTS = 32;
/** First pause after a conflict at most, ms; doubled each time. */
const PAUSE_MS = 20;
const PAUSE_CAP_MS = 1_000;

/** What a set or delete was made from: a version, 0 for "must not exist", or `force` for whatever there is. */
export type Precondition = { baseVersion: FieldVersion } | { force: true };

/** Options of an update. */
export interface UpdateOptions extends RequestOptions {
  /** Default 32. */
  maxAttempts?: number;
}

/**
 * Contexts behind one gateway. Every method throws {@link ReachError}: `context_conflict` with the current values in
 * `error.options.extra.conflicts`; `engine_unavailable` when there was no answer: then a write may have happened, and is
 * not sent again by itself.
 */
export class ContextsClient {
  readonly #api: GatewayApi;

  constructor(
    transport: Transport,
    private readonly random: () => number = Math.random,
  ) {
    this.#api = new GatewayApi(transport, REQUEST_TIMEOUT_MS);
  }

  /** The context; with `fields`, only these. `not_found` when nothing was written to it. */
  get(contextId: string, options: RequestOptions & { fields?: readonly string[] } = {}): Promise<Context> {
    const { fields, ...rest } = options;
    return this.#api.get(pathOf(contextId), { query: { fields: fields?.join(',') }, ...rest });
  }

  /** Writes a batch, all of it or nothing. */
  patch(
    contextId: string,
    operations: readonly ContextOperation[],
    options: RequestOptions = {},
  ): Promise<ContextPatched> {
    return this.#api.call({
      method: 'PATCH',
      path: pathOf(contextId),
      body: { operations },
      retry: 'unsent',
      ...options,
    });
  }

  /** Sets a field; answers its new version. */
  async set(contextId: string, field: string, value: Json, precondition: Precondition): Promise<FieldVersion> {
    const { fields } = await this.patch(contextId, [{ op: 'set', field, value, ...wireOf(precondition) }]);
    return fields[field]!.version;
  }

  /** Puts one value at the end of a list, which is made if there is none; never conflicts. Answers the list's new version. */
  async append(contextId: string, field: string, value: Json): Promise<FieldVersion> {
    const { fields } = await this.patch(contextId, [{ op: 'append', field, value }]);
    return fields[field]!.version;
  }

  /** Deletes a field. */
  async delete(contextId: string, field: string, precondition: Precondition): Promise<void> {
    await this.patch(contextId, [{ op: 'delete', field, ...wireOf(precondition) }]);
  }

  /** Deletes a whole context; false when there was none. */
  async deleteContext(contextId: string, options: RequestOptions = {}): Promise<boolean> {
    try {
      await this.#api.call({ method: 'DELETE', path: pathOf(contextId), retry: 'always', ...options });
      return true;
    } catch (caught) {
      if (caught instanceof ReachError && caught.code === 'not_found') return false;
      throw caught;
    }
  }

  /**
   * Reads, lets `change` say what is to become of it, and writes that from the versions that were read. On a conflict all of it
   * happens again, so `change` must have no effects of its own. Returns the values that then hold for the written fields.
   *
   * @throws ReachError `context_conflict` when others were faster each time
   */
  async update<Fields extends object = JsonObject>(
    contextId: string,
    change: ContextUpdate<Fields>,
    { maxAttempts = MAX_ATTEMPTS, signal }: UpdateOptions = {},
  ): Promise<ContextPatched> {
    for (let n = 1; ; n += 1) {
      const operations = await operationsOf(await this.#current(contextId, signal), change);
      if (operations.length === 0) return { context_id: contextId, fields: {}, deleted: [] };
      try {
        return await this.patch(contextId, operations, { signal });
      } catch (caught) {
        if (!(caught instanceof ReachError && caught.code === 'context_conflict') || n >= maxAttempts) throw caught;
        await sleep(this.random() * Math.min(PAUSE_CAP_MS, PAUSE_MS * 2 ** n), signal);
      }
    }
  }

  async #current(contextId: string, signal: AbortSignal | undefined): Promise<Context> {
    try {
      return await this.get(contextId, { signal });
    } catch (caught) {
      if (caught instanceof ReachError && caught.code === 'not_found') return { context_id: contextId, fields: {} };
      throw caught;
    }
  }
}

/**
 * One context.
 *
 * @example
 * ```ts
 * const ticket = reach.context('ticket-4711');
 * await ticket.append('log', 'asked for a refund');
 * await ticket.update<{ total: number }>((fields) => {
 *   fields.total = (fields.total ?? 0) + 1;
 * });
 * ```
 */
export class ContextHandle {
  constructor(
    readonly id: string,
    private readonly contexts: ContextsClient,
  ) {}

  /** See {@link ContextsClient.get}. */
  get(options?: RequestOptions & { fields?: readonly string[] }): Promise<Context> {
    return this.contexts.get(this.id, options);
  }

  /** See {@link ContextsClient.patch}. */
  patch(operations: readonly ContextOperation[], options?: RequestOptions): Promise<ContextPatched> {
    return this.contexts.patch(this.id, operations, options);
  }

  /** See {@link ContextsClient.set}. */
  set(field: string, value: Json, precondition: Precondition): Promise<FieldVersion> {
    return this.contexts.set(this.id, field, value, precondition);
  }

  /** See {@link ContextsClient.append}. */
  append(field: string, value: Json): Promise<FieldVersion> {
    return this.contexts.append(this.id, field, value);
  }

  /** See {@link ContextsClient.delete}. */
  delete(field: string, precondition: Precondition): Promise<void> {
    return this.contexts.delete(this.id, field, precondition);
  }

  /** See {@link ContextsClient.update}. */
  update<Fields extends object = JsonObject>(
    change: ContextUpdate<Fields>,
    options?: UpdateOptions,
  ): Promise<ContextPatched> {
    return this.contexts.update(this.id, change, options);
  }
}

const wireOf = (precondition: Precondition) =>
  'force' in precondition ? { force: true } : { base_version: precondition.baseVersion };

const NO_CONTEXT = 'An empty id names no context; pass the one that the messages share';
const pathOf = (contextId: string) => `/v1/contexts/${pathSegment(contextId, NO_CONTEXT)}`;

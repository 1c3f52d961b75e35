/** Dead letters for programs and for the CLI: what could not be delivered, why, and once more. */
import type {
  BulkRedriveRequest,
  BulkRedriveResult,
  DeadLetter,
  DeadLetterFilter,
  DeadLetterItem,
  DeadLetterState,
  DiscardReceipt,
  RedriveReceipt,
} from '../protocol/dead-letter';
import type { RequestOptions } from './client-types';
import { allPages, GatewayApi, pathSegment } from './gateway-api';
import { Transport, type TransportOptions } from './transport';
import type { Page } from './wire-types';

export type {
  BulkRedriveResult,
  DeadLetter,
  DeadLetterFilter,
  DeadLetterItem,
  DeadLetterState,
  DiscardReceipt,
  RedriveReceipt,
} from '../protocol/dead-letter';

/** Most time for one request, ms; a gateway waits up to 10 s for another one's redrive of the same reach. */
const REQUEST_TIMEOUT_MS = 20_000;
/** A bulk redrive takes up to a minute, ms. */
const BULK_TIMEOUT_MS = 90_000;

/** How a dead letter is redriven. */
export interface RedriveOptions extends RequestOptions {
  /** Who decided, for the record; default the principal. */
  by?: string;
  /** Also what may be sent only once, and may have been done already. */
  acceptRepeat?: boolean;
  /** The failed run as it was read. With it the request is safe to repeat whatever has become of the reach since. */
  runId?: string;
}

/** A bulk redrive. */
export interface BulkRedriveOptions extends RequestOptions {
  /** Default 100, at most 1,000. */
  limit?: number;
  dryRun?: boolean;
  acceptRepeat?: boolean;
  by?: string;
}

/**
 * Dead letters behind one gateway (R31). Every method throws {@link ReachError}; `engine_unavailable` when the gateway cannot be
 * reached.
 *
 * @example
 * ```ts
 * for await (const { reach_id, run_id, error } of deadLetters.all({ agent: 'refund_agent' })) {
 *   if (error.code === 'agent_unavailable') await deadLetters.redrive(reach_id, { runId: run_id });
 * }
 * ```
 */
export class DeadLettersClient {
  readonly #api: GatewayApi;

  /** @param transport the client's own, or one made for this alone: {@link DeadLettersClient.connect} */
  constructor(private readonly transport: Transport) {
    this.#api = new GatewayApi(transport, REQUEST_TIMEOUT_MS);
  }

  /** A client with connections of its own; {@link close} it. */
  static connect(options: TransportOptions): DeadLettersClient {
    return new DeadLettersClient(new Transport(options));
  }

  /** One page, newest first; eventually consistent. A page may be short or empty while there is a `next_cursor`. */
  list(
    filter: DeadLetterFilter & { state?: DeadLetterState; cursor?: string; limit?: number } = {},
    options: RequestOptions = {},
  ): Promise<Page<DeadLetterItem>> {
    return this.#api.get('/v1/dead-letters', { query: { ...filter }, ...options });
  }

  /** All of them, page by page. */
  all(
    filter: DeadLetterFilter & { state?: DeadLetterState } = {},
    options: RequestOptions = {},
  ): AsyncGenerator<DeadLetterItem> {
    return allPages((at) => this.list({ ...filter, ...at }, options));
  }

  /** The whole story of one. `not_found` for reaches that are no dead letters, saying what they are. */
  async show(reachId: string, options: RequestOptions = {}): Promise<DeadLetter> {
    return this.#api.get(pathOf(reachId), options);
  }

  /** Runs it again from the beginning, once however often it is asked for. Without `runId` a lost answer is not asked for again. */
  async redrive(reachId: string, options: RedriveOptions = {}): Promise<RedriveReceipt> {
    const { by, acceptRepeat, runId, ...rest } = options;
    return this.#api.call({
      method: 'POST',
      path: `${pathOf(reachId)}:redrive`,
      body: { by, accept_repeat: acceptRepeat, run_id: runId },
      retry: runId === undefined ? 'unsent' : 'always',
      ...rest,
    });
  }

  /** Runs all again that fit, in one request; what fails again meanwhile is not taken twice. */
  redriveAll(filter: DeadLetterFilter, options: BulkRedriveOptions = {}): Promise<BulkRedriveResult> {
    const { limit, dryRun, acceptRepeat, by, ...rest } = options;
    const body: Partial<BulkRedriveRequest> = { filter, limit, dry_run: dryRun, accept_repeat: acceptRepeat, by };
    return this.#api.call({
      method: 'POST',
      path: '/v1/dead-letters:redrive',
      body,
      retry: 'unsent',
      timeoutMs: BULK_TIMEOUT_MS,
      ...rest,
    });
  }

  /** Decides against it, for good. */
  async discard(
    reachId: string,
    why: { reason: string; by?: string },
    options: RequestOptions = {},
  ): Promise<DiscardReceipt> {
    return this.#api.call({
      method: 'POST',
      path: `${pathOf(reachId)}:discard`,
      body: why,
      retry: 'always',
      ...options,
    });
  }

  /** Closes the connections once running requests are done; only for one made by {@link DeadLettersClient.connect}. */
  close(): Promise<void> {
    return this.transport.close();
  }
}

const pathOf = (reachId: string) => `/v1/dead-letters/${pathSegment(reachId)}`;

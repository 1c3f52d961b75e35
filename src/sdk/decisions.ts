/** The decision log for programs and for the CLI: why which agent, and what if. */
import type { DecisionFilter, ReplayReport, ReplayRequestDraft } from '../protocol/decision-log';
import type { LoggedDecision } from '../protocol/logged-decision';
import type { RequestOptions } from './client-types';
import { allPages, GatewayApi, pathSegment } from './gateway-api';
import { Transport, type TransportOptions } from './transport';
import type { Page } from './wire-types';

export type {
  DecisionFilter,
  ReplayChanges,
  ReplayedChange,
  ReplayedOutcome,
  ReplayReport,
  ReplayRequestDraft,
} from '../protocol/decision-log';
export type { DecisionInputs, LoggedDecision, OfferFacts } from '../protocol/logged-decision';

/** Most time for one page, ms; the gateway looks for up to 5 s. */
const REQUEST_TIMEOUT_MS = 20_000;
/** Most time for a replay, ms; the gateway takes up to 25 s. */
const REPLAY_TIMEOUT_MS = 60_000;

/** A look at the log. */
export interface DecisionListOptions extends DecisionFilter {
  /** Also what each decision was made of: what a replay needs. Default false. */
  inputs?: boolean;
}

/**
 * The decision log behind one gateway (R23). Every method throws {@link ReachError}; `engine_unavailable` when the gateway, or
 * the store of the log, cannot be reached.
 *
 * @example
 * ```ts
 * const { route_reason, candidates } = await client.decisions.get(receipt.decision_id);
 * const { changed, agents } = await client.decisions.replay({ changes: { without: ['refund_agent'] } });
 * ```
 */
export class DecisionsClient {
  readonly #api: GatewayApi;

  /** @param transport the client's own, or one made for this alone: {@link DecisionsClient.connect} */
  constructor(private readonly transport: Transport) {
    this.#api = new GatewayApi(transport, REQUEST_TIMEOUT_MS);
  }

  /** A client with connections of its own; {@link close} it. */
  static connect(options: TransportOptions): DecisionsClient {
    return new DecisionsClient(new Transport(options));
  }

  /** One page, newest first. A page may be short or empty while there is a `next_cursor`. */
  list(
    { inputs = false, ...query }: DecisionListOptions & { cursor?: string; limit?: number } = {},
    options: RequestOptions = {},
  ): Promise<Page<LoggedDecision>> {
    const asked = { ...query, ...(inputs && { inputs: 'true' }) };
    return this.#api.get('/v1/decisions', { query: asked, ...options });
  }

  /** All of them, page by page. */
  all(filter: DecisionListOptions = {}, options: RequestOptions = {}): AsyncGenerator<LoggedDecision> {
    return allPages((at) => this.list({ ...filter, ...at }, options));
  }

  /** One decision with everything it was made of. `not_found` says why it may not be there. */
  async get(decisionId: string, options: RequestOptions = {}): Promise<LoggedDecision> {
    const refusal = 'An empty id names nothing; pass the decision_id of a receipt or result';
    return this.#api.get(`/v1/decisions/${pathSegment(decisionId, refusal)}`, options);
  }

  /** What would have changed under other weights, breakers, routes, agents or another model. Nothing is sent to anybody. */
  replay(request: ReplayRequestDraft, options: RequestOptions = {}): Promise<ReplayReport> {
    return this.#api.call({
      method: 'POST',
      path: '/v1/decisions:replay',
      body: request,
      retry: 'always',
      timeoutMs: REPLAY_TIMEOUT_MS,
      ...options,
    });
  }

  /** Closes the connections once running requests are done; only for one made by {@link DecisionsClient.connect}. */
  close(): Promise<void> {
    return this.transport.close();
  }
}

import { performance } from 'node:perf_hooks';
import type { DecisionLog, DecisionPage } from '../decisions';
import {
  decisionQuerySchema,
  replayRequestSchema,
  type DecisionFilter,
  type ReplayReport,
} from '../protocol/decision-log';
import type { LoggedDecision } from '../protocol/logged-decision';
import type { AbilityText } from '../protocol/matching';
import { ReachError } from '../protocol/reach-error';
import { validate } from '../protocol/validation';
import { prepareChanges, replayAll, type Comparer, type PreparedChanges } from '../routing/replay';

/** How long a replay over HTTP may take, ms; what it has then is the answer. */
const REPLAY_MS = 25_000;
/** When another replay may be asked for while one runs, ms. */
const RETRY_MS = 5_000;

export interface DecisionServiceOptions {
  log: Pick<DecisionLog, 'list' | 'get' | 'walk'>;
  /** Compares texts anew; see `WarmRouter.comparer`. */
  comparer: (options: { model?: string; extra: readonly AbilityText[] }) => {
    compare: Comparer;
    close(): Promise<void>;
  };
}

/** The decision log as the API shows it (R23). */
export class DecisionService {
  /** A replay takes a whole core: one at a time leaves the others to requests. */
  private replaying = false;

  constructor(private readonly options: DecisionServiceOptions) {}

  /** @throws ReachError `invalid_request` naming the query parameter */
  async list(query: unknown): Promise<DecisionPage> {
    const { inputs, cursor, limit, ...filter } = validate(decisionQuerySchema, query, { what: 'the query' });
    checkSpan(filter, '');
    const page = await this.options.log.list(filter, { limit, ...(cursor !== undefined && { cursor }) });
    return inputs === 'true' ? page : { ...page, items: page.items.map(withoutInputs) };
  }

  /** @throws ReachError `not_found` */
  get(decisionId: string): Promise<LoggedDecision> {
    return this.options.log.get(decisionId);
  }

  /** @throws ReachError `invalid_request`, `weights_invalid`; `rate_limited` while another replay runs at this gateway */
  async replay(body: unknown): Promise<ReplayReport> {
    const { filter, changes, limit, max_decisions } = validate(replayRequestSchema, body);
    checkSpan(filter, '/filter');
    const prepared = prepareChanges(changes);
    if (this.replaying)
      throw new ReachError('rate_limited', 'Another replay is running at this gateway; try again when it is done', {
        retryAfterMs: RETRY_MS,
      });
    this.replaying = true;
    try {
      return await this.run(filter, { prepared, limit, most: max_decisions });
    } finally {
      this.replaying = false;
    }
  }

  private async run(
    filter: DecisionFilter,
    { prepared, limit, most }: { prepared: PreparedChanges; limit: number; most: number },
  ): Promise<ReplayReport> {
    const { asked, index } = prepared;
    const comparer = this.options.comparer({ model: asked.embeddings?.model, extra: index?.all.texts ?? [] });
    const newest = new Newest(this.options.log.walk(filter), most);
    const endMs = performance.now() + REPLAY_MS;
    const outOfTime = () =>
      performance.now() > endMs
        ? `only the newest decisions were looked at, for ${REPLAY_MS / 1_000} s: narrow the filter, or export the log and replay it offline`
        : undefined;
    try {
      const { compare } = comparer;
      const cut = () => newest.cut ?? outOfTime();
      return await replayAll(newest, { changes: prepared, compare, limit, cut });
    } finally {
      await comparer.close();
    }
  }
}

/** The first so many; says whether there were more. */
class Newest implements AsyncIterable<LoggedDecision> {
  cut: string | undefined;

  constructor(
    private readonly source: AsyncIterable<LoggedDecision>,
    private readonly most: number,
  ) {}

  async *[Symbol.asyncIterator](): AsyncGenerator<LoggedDecision> {
    let count = 0;
    for await (const decision of this.source) {
      if (count === this.most) {
        this.cut = `only the newest ${this.most} decisions were looked at: narrow the filter, or export the log and replay it offline`;
        return;
      }
      count += 1;
      yield decision;
    }
  }
}

function withoutInputs(decision: LoggedDecision): LoggedDecision {
  return { ...decision, inputs: undefined };
}

/** @throws ReachError `invalid_request` for a span that holds nothing */
function checkSpan({ since, until }: DecisionFilter, prefix: string): void {
  if (since === undefined || until === undefined || Date.parse(since) < Date.parse(until)) return;
  const message = 'must be later than since';
  throw new ReachError('invalid_request', `until ${message}`, {
    errors: [{ pointer: `${prefix}/until`, message, fix: 'exchange the two, or leave one out' }],
  });
}

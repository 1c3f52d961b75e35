import { Context } from '@temporalio/activity';
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { ReachError } from '../src/protocol/reach-error';
import type { ReplyTo } from '../src/protocol/callback-target';
import type {
  DeliverCallbackInput,
  DeliveryActivities,
  DeliveryDone,
  DeliveryFailure,
  NotifyActivities,
  NotifyInput,
} from '../workflows/delivery-messages';

/** A receiver may ask for more time than the schedule gives it (`Retry-After`), but not for more than this, ms. */
const MAX_RETRY_AFTER_MS = 3_600_000;
/** An attempt that the shutdown of its worker cut short is made again elsewhere, whatever the schedule says, ms. */
const AFTER_SHUTDOWN_MS = 1_000;
/** Waits grow by up to this share, at random, so that what failed together does not come back together. */
const SPREAD = 0.1;

/** What is told: the view of a reach whose run is over, as `GET` answers it, within the size that may be delivered. */
export interface ToldEnd {
  /** ISO time of the run's end. */
  endedAt: string;
  status: string;
  view: Record<string, unknown>;
  /** Of the message; default `reach.` and the status. */
  type?: string;
}

/** What deliveries work with; the composition root brings it. */
export interface DeliveryDependencies {
  /** Starts the deliveries of one end. */
  start(input: NotifyInput): Promise<void>;
  /** The end of a run; null when it is not over soon. @throws ReachError `not_found` once retention has taken it */
  readEnd(reachId: string, runId: string): Promise<ToldEnd | null>;
  /** One signed POST. @throws ReachError when nobody answered, or may be asked */
  post(request: {
    id: string;
    url: string;
    end: ToldEnd;
    timeoutMs: number;
    /** Aborts when this worker shuts down. */
    signal: AbortSignal;
  }): Promise<PostAnswer>;
  /** Tells a workflow or a topic; the same `id` again is not told twice. @throws ReachError `not_found` when it is gone */
  reply(request: { id: string; to: ReplyTo; end: ToldEnd }): Promise<void>;
  /** Counts an attempt, and says in the log when it was the last in vain. */
  attempted(input: DeliverCallbackInput, outcome: 'delivered' | 'retried' | 'failed', failure?: DeliveryFailure): void;
  /** In [0, 1); injected for tests. */
  random: () => number;
}

/** What a receiver answered. */
export interface PostAnswer {
  status: number;
  retryAfterMs?: number;
}

/** Binds the activities around the end of a reach to what they work with. */
export function createDeliveryActivities(deps: DeliveryDependencies): NotifyActivities & DeliveryActivities {
  return { notify: (input) => deps.start(input), deliver: (input) => deliver(deps, input) };
}

/** Why an attempt was in vain; `final`: another one would be, too. */
interface Refused extends Omit<DeliveryFailure, 'attempts'> {
  final: boolean;
  retryAfterMs?: number;
}

async function deliver(deps: DeliveryDependencies, input: DeliverCallbackInput): Promise<DeliveryDone> {
  const { info, cancellationSignal } = Context.current();
  const attempts = info.attempt;
  const refused = await attemptOnce(deps, input, cancellationSignal);
  if (!refused) {
    deps.attempted(input, 'delivered');
    return { attempts };
  }
  const { final, retryAfterMs, ...why } = refused;
  const failure: DeliveryFailure = { attempts, ...why };
  const delayMs = cancellationSignal.aborted ? AFTER_SHUTDOWN_MS : input.delays_ms[attempts - 1];
  const isLast = final || delayMs === undefined;
  deps.attempted(input, isLast ? 'failed' : 'retried', failure);
  throw ApplicationFailure.create({
    type: 'undelivered',
    message: failure.message,
    nonRetryable: isLast,
    // A receiver that fails is no fault of the worker: the SDK neither warns nor counts it as one.
    category: ApplicationFailureCategory.BENIGN,
    details: [failure],
    ...(!isLast && { nextRetryDelay: nextDelayMs(delayMs, retryAfterMs, deps.random) }),
  });
}

function nextDelayMs(scheduledMs: number, retryAfterMs = 0, random: () => number): number {
  return Math.max(Math.round(scheduledMs * (1 + SPREAD * random())), Math.min(retryAfterMs, MAX_RETRY_AFTER_MS));
}

/** Null when it has arrived. */
async function attemptOnce(
  deps: DeliveryDependencies,
  input: DeliverCallbackInput,
  signal: AbortSignal,
): Promise<Refused | null> {
  const { id, to } = input;
  try {
    const end = input.told ? { status: '', ...input.told } : await deps.readEnd(input.reach_id, input.run_id);
    if (!end) return { final: false, message: 'The reach is not over yet' };
    if ('url' in to) return refusalOf(await deps.post({ id, url: to.url, end, timeoutMs: input.timeout_ms, signal }));
    await deps.reply({ id, to, end });
    return null;
  } catch (caught) {
    const { code, message } = ReachError.from(caught);
    return { final: FINAL.has(code), message };
  }
}

/** What no later attempt would change: an address that may not be called, a workflow or a reach that is gone, a refused event. */
const FINAL: ReadonlySet<string> = new Set<ReachError['code']>([
  'callback_url_forbidden',
  'not_found',
  'invalid_request',
  'payload_too_large',
  'idempotency_key_reused',
]);

/** 2xx is taken, 410 is "never again" (Standard Webhooks); redirects are not followed. */
function refusalOf({ status, retryAfterMs }: PostAnswer): Refused | null {
  if (status >= 200 && status < 300) return null;
  const redirected = status >= 300 && status < 400;
  const why = redirected ? ', a redirect, which is not followed' : status === 410 ? ' and wants no more callbacks' : '';
  return {
    final: status === 410,
    message: `The receiver answered ${status}${why}`,
    http_status: status,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
}

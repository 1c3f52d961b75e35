import type { DeduplicationBeginAnswer, DeduplicationCompleteAnswer } from '../../protocol/deduplication';
import type { Capability } from '../../protocol/descriptor';
import { validatePayload } from '../../protocol/json-schema';
import { ReachError } from '../../protocol/reach-error';
import type { AgentCall, JsonObject } from '../../protocol/shapes';
import { CallFault } from '../agent-errors';
import type { AgentContext } from '../agent-types';
import { businessKey } from './business-key';
import { monotonic } from '../time';
import { patiently } from './patience';
import { SingleFlight } from './single-flight';
import type { DeduplicationStore } from './store';

/** Longest that a call waits for a store before it is turned away, ms; never more than half of its time. */
const BEGIN_PATIENCE_MS = 2_000;
/** Longest that a finished result waits to be recorded, ms: `exactly_once` has nothing else to offer. */
const COMPLETE_PATIENCE_MS = { at_least_once: 2_000, exactly_once: 10_000 };
/** When a refused delivery is to come again, ms. */
const RETRY_AFTER_MS = 1_000;
/** A store that failed is left alone for this long by deliveries that can do without it, ms. */
const LEFT_ALONE_MS = 5_000;
/** Stands for the fence of a platform that sends none: smaller than every real one. */
const NO_FENCE = '0'.repeat(19);

/** What consumption is decided by. */
export interface ConsumptionParts {
  /** Null: `deduplication: 'off'`. */
  store: DeduplicationStore | null;
  ttlMs: number;
  agentName: string;
  /** Of the descriptor: what is idempotent, and what answers must look like. */
  capabilities: readonly Capability[];
}

/** One delivery at an instance. */
export interface Delivery {
  call: AgentCall;
  context: AgentContext;
  /** Runs the handler. */
  work: () => Promise<JsonObject>;
}

/** A delivery whose result is deduplicated. */
interface Kept extends Delivery {
  store: DeduplicationStore;
  key: string;
  exactly: boolean;
}

/**
 * Consumes deliveries under the semantics that their sender declared (R4, R7):
 *
 * - `at_most_once`: straight to the handler; the platform sends it once.
 * - `at_least_once`: a key with a recorded result is answered with it; else the handler runs and its result is recorded
 *   before the answer leaves. Skipped for abilities declared `idempotent: true`: repeating is harmless by declaration.
 *   While the store is away a first attempt runs without it, as it is hardly ever a duplicate, and a further one is
 *   turned away: it might be.
 * - `exactly_once`: the key is claimed first. An attempt that a newer one has overtaken is turned away, or its result thrown
 *   away; without a store nothing runs.
 *
 * A try that failed leaves no result, so its redelivery runs the handler again. Deliveries of one key that meet at one
 * instance share one run.
 */
export class Consumption {
  readonly #flights = new SingleFlight<JsonObject>();
  #toldOfMissingStore = false;
  #storeAwayUntilMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly parts: ConsumptionParts) {}

  /** The delivery's answer. @throws {CallFault} for refusals of its own, and what the handler throws */
  async consume(delivery: Delivery): Promise<JsonObject> {
    const { call, context, work } = delivery;
    const { store } = this.parts;
    if (!this.#deduplicates(call)) return work();
    if (store === null) throw noStore();
    const exactly = call.delivery_semantics === 'exactly_once';
    const key = businessKey(this.parts.agentName, call);
    return this.#flights.share(key, {
      signal: context.signal,
      run: () => this.#once({ ...delivery, store, key, exactly }),
      joined: () => context.log.info({}, 'answered with the result of a delivery that was already running'),
    });
  }

  #deduplicates(call: AgentCall): boolean {
    if (call.delivery_semantics === 'at_most_once') return false;
    if (call.delivery_semantics === 'exactly_once') return true;
    const idempotent = this.#capability(call.ability)?.idempotent === true;
    return this.parts.store !== null && !idempotent && typeof call.idempotency_key === 'string';
  }

  async #once(kept: Kept): Promise<JsonObject> {
    const { context } = kept;
    const known = this.#doesWithout(kept) ? 'away' : await this.#begin(kept);
    if (known === 'unsupported') return kept.work();
    if (known === 'away') return this.#workFirst(kept);
    if (known.status === 'superseded') throw overtaken();
    if (known.status === 'done') {
      context.log.info({}, 'answered from the deduplication store');
      return known.output;
    }
    context.signal.throwIfAborted();
    const output = await kept.work();
    return this.#mayBeRecorded(kept, output) ? this.#complete(kept, output) : output;
  }

  /** True while the store is known to be away, for a delivery that can do without it. */
  #doesWithout({ exactly, call }: Kept): boolean {
    return !exactly && call.attempt === 1 && monotonic() < this.#storeAwayUntilMs;
  }

  /** A first attempt while the store is away: the answer does not wait for the record, which is tried all the same. */
  async #workFirst(kept: Kept): Promise<JsonObject> {
    const output = await kept.work();
    if (this.#mayBeRecorded(kept, output)) void this.#complete(kept, output).catch(() => undefined);
    return output;
  }

  /** A store that cannot be asked might hold the answer: running a redelivery blindly could do the work twice. */
  async #begin({
    store,
    key,
    exactly,
    call,
    context,
  }: Kept): Promise<DeduplicationBeginAnswer | 'unsupported' | 'away'> {
    const fence = exactly ? fenceOf(call) : null;
    const forMs = Math.min(BEGIN_PATIENCE_MS, context.deadlineMs / 2);
    try {
      const ask = () => store.begin({ key, fence, ttlMs: this.parts.ttlMs });
      return await patiently(ask, { forMs, signal: context.signal });
    } catch (caught) {
      context.signal.throwIfAborted();
      if (!exactly && lacksStore(caught)) return this.#withoutStore(context);
      if (exactly || call.attempt !== 1) throw unreachable(caught);
      this.#storeAwayUntilMs = monotonic() + LEFT_ALONE_MS;
      context.log.warn({ err: caught }, 'the deduplication store is away; first attempts go on without it');
      return 'away';
    }
  }

  /** Agents may be updated before their gateway; `at_least_once` allows what comes of it. */
  #withoutStore(context: AgentContext): 'unsupported' {
    if (!this.#toldOfMissingStore)
      context.log.warn({}, 'the gateway has no deduplication store; redeliveries run again until it is updated');
    this.#toldOfMissingStore = true;
    return 'unsupported';
  }

  /** The platform will refuse an answer against the schema; as a record it would outlive the agent's repair. */
  #mayBeRecorded({ store, exactly, call, context }: Kept, output: JsonObject): boolean {
    const schema = this.#capability(call.ability)?.output_schema;
    if (schema !== undefined && validatePayload(schema, output).length > 0) {
      context.log.warn({}, 'the answer does not match output_schema; it was not recorded as done');
      return false;
    }
    const bytes = Buffer.byteLength(JSON.stringify(output));
    if (bytes <= store.maxOutputBytes) return true;
    if (exactly) throw tooLarge(bytes, store.maxOutputBytes);
    context.log.error(
      { bytes, max_bytes: store.maxOutputBytes },
      'the answer is too large for the deduplication store: a redelivery would do the work again; answer with a reference, or use a store for larger outputs',
    );
    return false;
  }

  async #complete(kept: Kept, output: JsonObject): Promise<JsonObject> {
    const { store, key, exactly, call, context } = kept;
    const most = COMPLETE_PATIENCE_MS[exactly ? 'exactly_once' : 'at_least_once'];
    const forMs = Math.min(most, Math.max(RETRY_AFTER_MS, context.deadlineMs / 2));
    const request = { key, fence: fenceOf(call), output, ttlMs: this.parts.ttlMs };
    try {
      // Not bound to the call's signal: what was done is recorded even when nobody waits for it any more.
      const answer = await patiently(() => store.complete(request), { forMs });
      return answer.status === 'recorded' ? output : this.#replaced(kept, output, answer);
    } catch (caught) {
      if (caught instanceof CallFault) throw caught;
      if (exactly) throw unrecorded(caught);
      context.log.error({ err: caught }, 'the result could not be recorded: a redelivery would do the work again');
      return output;
    }
  }

  #replaced(
    { exactly, context }: Kept,
    output: JsonObject,
    answer: Extract<DeduplicationCompleteAnswer, { status: 'superseded' }>,
  ): JsonObject {
    if (answer.output === null && !exactly) return output;
    context.log.info({}, 'another attempt has taken over; this result was thrown away');
    if (answer.output !== null) return answer.output;
    throw fault('agent_error', 'A newer attempt of this request has taken over; its result counts, not this one');
  }

  #capability(ability: string): Capability | undefined {
    return this.parts.capabilities.find(({ name }) => name === ability);
  }
}

function fenceOf(call: AgentCall): string {
  if (typeof call.fence === 'string') return call.fence;
  if (call.delivery_semantics !== 'exactly_once') return NO_FENCE;
  throw fault(
    'agent_rejected',
    'The call has no `fence`, without which exactly_once cannot be had; update the gateway',
  );
}

const lacksStore = (caught: unknown) => caught instanceof ReachError && caught.code === 'not_found';

function fault(
  code: 'agent_rejected' | 'agent_busy' | 'agent_error' | 'agent_response_too_large',
  message: string,
  cause?: unknown,
): CallFault {
  const retryAfterMs = code === 'agent_busy' || code === 'agent_error' ? RETRY_AFTER_MS : undefined;
  return new CallFault(new ReachError(code, message, { cause, ...(retryAfterMs !== undefined && { retryAfterMs }) }));
}

const noStore = () =>
  fault('agent_rejected', 'This agent runs without a deduplication store; exactly_once needs one (`deduplication`)');

const overtaken = () => fault('agent_busy', 'A newer attempt of this request is at work; this one was not begun');

const unreachable = (cause: unknown) =>
  fault(
    'agent_busy',
    'The deduplication store could not be asked; the call was not begun and may be sent again',
    cause,
  );

const unrecorded = (cause: unknown) =>
  fault(
    'agent_error',
    'The work was done, but its result could not be recorded; the next attempt does it again',
    cause,
  );

const tooLarge = (bytes: number, most: number) =>
  fault(
    'agent_response_too_large',
    `The work was done, but its answer of ${bytes} bytes is over the ${most} that its deduplication store keeps, so that it cannot be exactly_once; answer with a reference`,
  );

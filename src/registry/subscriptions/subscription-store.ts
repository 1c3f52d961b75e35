import { canonicalJson } from '../../protocol/identity';
import { assertPathId } from '../../protocol/path-id-check';
import { ReachError } from '../../protocol/reach-error';
import type { Json } from '../../protocol/shapes';
import { SUBSCRIPTION_ID, type Subscription, type SubscriptionBody } from '../../protocol/subscription';
import { systemClock } from '../clock';
import { callEtcd } from '../etcd/etcd-client';
import { getOp, putOp, readOf, unchanged } from '../etcd/etcd-ops';
import { Keyspace } from '../keys';
import { DEFAULT_KEY_PREFIX, type RegistryOptions } from '../registry';
import { decodeSubscription, encodeSubscription } from './subscription-record';

/** What putting a subscription did. */
export interface PutOutcome {
  outcome: 'created' | 'unchanged' | 'replaced';
  subscription: Subscription;
}

/** Writers of one id that meet so often in a row are no race any more. */
const MAX_TRIES = 8;

/**
 * Subscriptions on etcd, one key each, written by compare-and-swap. Reads here are exact; who listens to a topic is the
 * view's to say. Fails with `engine_unavailable` within about 3 s when etcd does not answer.
 */
export class SubscriptionStore {
  private readonly keys: Keyspace;

  constructor(private readonly options: Omit<RegistryOptions, 'logger'>) {
    this.keys = new Keyspace(options.keyPrefix ?? DEFAULT_KEY_PREFIX, options.tenant);
  }

  /**
   * Creates a subscription, or replaces what it says; the same again changes nothing.
   * @throws ReachError `invalid_request` for an id that is none
   */
  put(id: string, body: SubscriptionBody): Promise<PutOutcome> {
    assertSubscriptionId(id);
    const { etcd, clock = systemClock } = this.options;
    const key = this.keyOf(id);
    return callEtcd(`writing subscription ${id}`, async () => {
      for (let n = 1; n <= MAX_TRIES; n += 1) {
        const { kvs } = await etcd.kv.range({ key: Buffer.from(key) });
        const [found] = kvs;
        const known = found && decodeSubscription(id, found.value);
        if (known && saysTheSame(known, body)) return { outcome: 'unchanged', subscription: known };
        const createdAt = known?.created_at ?? clock.wall().toISOString();
        const written = await etcd.kv.txn({
          compare: [unchanged(key, found?.mod_revision ?? '0')],
          success: [putOp(key, encodeSubscription(body, createdAt))],
          failure: [],
        });
        const subscription = { id, ...body, created_at: createdAt };
        if (written.succeeded) return { outcome: found ? 'replaced' : 'created', subscription };
      }
      throw new ReachError('engine_unavailable', `Subscription ${id} is being written by others; try again`, {
        retryAfterMs: 1_000,
      });
    });
  }

  /** As etcd has it now; null when there is none. */
  async get(id: string): Promise<Subscription | null> {
    if (!SUBSCRIPTION_ID.test(id)) return null;
    const response = await callEtcd(`reading subscription ${id}`, () =>
      this.options.etcd.kv.txn({ compare: [], success: [getOp(this.keyOf(id))], failure: [] }),
    );
    const [found] = readOf(response, 0);
    return found ? decodeSubscription(id, found.value) : null;
  }

  /** Ends a subscription. False when there was none. Events accepted before are delivered all the same. */
  async delete(id: string): Promise<boolean> {
    if (!SUBSCRIPTION_ID.test(id)) return false;
    const { etcd } = this.options;
    const { deleted } = await callEtcd(`deleting subscription ${id}`, () =>
      etcd.kv.deleteRange({ key: Buffer.from(this.keyOf(id)) }),
    );
    return Number(deleted) > 0;
  }

  private keyOf(id: string): string {
    return this.keys.under(this.keys.subscriptions, id);
  }
}

function saysTheSame(subscription: Subscription, body: SubscriptionBody): boolean {
  const known = { ...subscription, id: undefined, created_at: undefined };
  return canonicalJson(known as unknown as Json) === canonicalJson(body as unknown as Json);
}

/**
 * What an earlier release took can still be read and deleted, by whoever gets there.
 *
 * @throws ReachError `invalid_request` naming the rule
 */
function assertSubscriptionId(id: string): void {
  assertPathId(id, { what: 'the id of the subscription', example: 'audit-orders' });
  if (SUBSCRIPTION_ID.test(id)) return;
  const message = 'must be letters, digits, . _ and -, up to 64 characters';
  throw new ReachError('invalid_request', `The id of a subscription ${message}`, {
    errors: [{ pointer: '/id', message, fix: 'choose one such as audit-orders' }],
  });
}

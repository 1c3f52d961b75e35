import type { IKeyValue } from 'etcd3';
import { z } from 'zod';
import { subscriptionBodySchema, type Subscription, type SubscriptionBody } from '../../protocol/subscription';
import { encodeRecord } from '../records';

const known = z.object({ v: z.literal(1) });
const schema = z.object({ ...subscriptionBodySchema.shape, created_at: z.string() });

/** The value of a subscription's key. */
export function encodeSubscription(body: SubscriptionBody, createdAt: string): string {
  return encodeRecord({ ...body, created_at: createdAt });
}

/** The subscription in a value; null when it cannot be read. */
export function decodeSubscription(id: string, value: IKeyValue['value']): Subscription | null {
  try {
    const record: unknown = JSON.parse(value.toString('utf8'));
    known.parse(record);
    return { id, ...schema.parse(record) };
  } catch {
    return null;
  }
}

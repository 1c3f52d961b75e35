/** What single settings cannot say: rules between several of a section. */
import type { z } from 'zod';
import { findingsAmong } from '../protocol/route-table-schema';
import type { RouteEntry } from '../protocol/route-table';
import { isLoopback } from './loopback';

/** A key that is sent in the clear is no secret any more. Without `tls` the connection is encrypted wherever there is a key. */
export function temporalRules(
  temporal: { address: string; api_key_env?: string; tls?: boolean },
  context: z.RefinementCtx,
): void {
  if (temporal.tls !== false || temporal.api_key_env === undefined || isLoopback(temporal.address)) return;
  const message = 'must not be false beside api_key_env: the key would cross the network in the clear; remove tls';
  context.addIssue({ code: 'custom', path: ['tls'], message });
}

interface BreakerSettings {
  trip_failures: number;
  trip_window: number;
  recovery_steps: number[];
}

/** What single settings cannot say: a breaker that could never trip, or whose recovery goes backwards. */
export function breakerRules(breaker: BreakerSettings, context: z.RefinementCtx): void {
  const { trip_failures, trip_window, recovery_steps } = breaker;
  if (trip_failures > trip_window) {
    const message = `must be at most trip_window (${trip_window}), or the breaker could never trip`;
    context.addIssue({ code: 'custom', path: ['trip_failures'], message });
  }
  if (recovery_steps.some((step, i) => i > 0 && step <= recovery_steps[i - 1]!)) {
    const message = 'must grow from step to step, such as [0.1, 0.25, 0.5]';
    context.addIssue({ code: 'custom', path: ['recovery_steps'], message });
  }
}

/** A secret before none, and times of nothing, are mistakes. */
export function callbackRules(
  callbacks: { secret_env?: string; previous_secret_env?: string; timeout: number; max_age: number },
  context: z.RefinementCtx,
): void {
  const mistake = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message });
  if (callbacks.previous_secret_env !== undefined && callbacks.secret_env === undefined)
    mistake('previous_secret_env', 'needs secret_env beside it');
  if (callbacks.max_age < callbacks.timeout) mistake('max_age', 'must not be shorter than timeout');
}

/** Repeated routes, groups where every weight is 0, and `*` for a group. */
export function routeRules(routes: RouteEntry[], context: z.RefinementCtx): void {
  for (const { pointer, message } of findingsAmong(routes)) {
    const [, position, field] = pointer.split('/').slice(1);
    context.addIssue({ code: 'custom', path: [Number(position), ...(field ? [field] : [])], message });
  }
}

/** A bucket has no default. */
export function payloadStoreRules(store: { type: string; bucket?: string }, context: z.RefinementCtx): void {
  if (store.type === 's3' && store.bucket === undefined)
    context.addIssue({ code: 'custom', path: ['bucket'], message: 'is missing; type s3 needs one' });
}

import type { Envelope } from '../protocol/envelope';
import { MAX_LOCAL_ATTEMPT_MS } from '../protocol/limits';
import type { RoutedTarget } from '../protocol/routed-target';
import { attemptBudgetMs } from './deadline-budget';

/**
 * Whether the first attempt at `target` may run as a local activity: after a crash of its worker it runs again without
 * a trace, and cancellation waits for it, so only idempotent abilities of push agents, short attempts, and never
 * `at_most_once`.
 *
 * @param leftMs what is left of the reach
 */
export function mayRunLocally(
  envelope: Pick<Envelope, 'delivery_semantics'>,
  target: RoutedTarget,
  leftMs: number,
): boolean {
  const budgetMs = attemptBudgetMs(leftMs, target.timeout_ms);
  const repeatable = target.idempotent === true && envelope.delivery_semantics === 'at_least_once';
  return target.protocol !== 'worker' && repeatable && budgetMs > 0 && budgetMs <= MAX_LOCAL_ATTEMPT_MS;
}

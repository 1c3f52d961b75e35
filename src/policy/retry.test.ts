import fc from 'fast-check';
import { ERROR_CODES, ERROR_TABLE } from '../protocol/error-codes';
import { backoffMs, mayRepeat, nextAttempt, parseRetryAfterMs, retriesAllowed, type RetryTerms } from './retry';

const terms: RetryTerms = { semantics: 'at_least_once', idempotent: null, retriesLeft: 3, leftMs: 10_000 };
const never = () => 0.5;

describe('backoff', () => {
  it.each([
    [1, 0, 50],
    [1, 0.5, 100],
    [2, 0.5, 200],
    [3, 0.5, 400],
    [3, 0.999_999, 600],
  ])('retry %i with chance %f waits %i ms', (retry, chance, expected) => {
    expect(backoffMs(retry, () => chance)).toBe(expected);
  });
});

describe('the verdict on another attempt', () => {
  it('repeats transient failures, and those of our own store, only', () => {
    for (const code of ERROR_CODES) {
      const { retry } = nextAttempt({ code, received: 'no' }, terms, 1, never);
      const passes = ERROR_TABLE[code].class === 'transient' || code === 'engine_unavailable';
      expect([code, retry]).toEqual([code, passes]);
    }
  });

  it.each([
    ['at_most_once', null, 'no', false],
    ['at_least_once', null, 'unknown', true],
    ['at_least_once', false, 'no', true],
    ['at_least_once', false, 'unknown', false],
    ['at_least_once', false, 'yes', false],
    ['exactly_once', true, 'yes', true],
  ] as const)('%s, idempotent %s, received %s: repeatable %s', (semantics, idempotent, received, expected) => {
    expect(mayRepeat(received, { semantics, idempotent })).toBe(expected);
  });

  it('honours Retry-After over its own backoff, and fails at once when that wait does not fit', () => {
    const failed = { code: 'agent_busy', received: 'yes', retryAfterMs: 4_000 } as const;
    expect(nextAttempt(failed, terms, 1, never)).toEqual({ retry: true, delayMs: 4_000 });
    expect(nextAttempt(failed, { ...terms, leftMs: 3_000 }, 1, never)).toEqual({ retry: false, because: 'no_time' });
  });

  it('stops when the retries are used up', () => {
    expect(nextAttempt({ code: 'agent_error', received: 'yes' }, { ...terms, retriesLeft: 0 }, 4, never)).toEqual({
      retry: false,
      because: 'retries_used_up',
    });
  });

  it('never waits past the deadline, and makes at most 1 + retries attempts (property)', () => {
    const failure = fc.record({
      retryAfterMs: fc.option(fc.nat(20_000), { nil: undefined }),
      chance: fc.double({ min: 0, max: 0.999, noNaN: true }),
    });
    fc.assert(
      fc.property(
        fc.nat(10),
        fc.nat(60_000),
        fc.array(failure, { minLength: 20, maxLength: 20 }),
        (maxRetry, total, failures) => {
          let left = total;
          let attempts = 0;
          for (const { retryAfterMs, chance } of failures) {
            attempts += 1;
            const verdict = nextAttempt(
              { code: 'agent_error', received: 'no', retryAfterMs },
              { ...terms, retriesLeft: maxRetry - (attempts - 1), leftMs: left },
              attempts,
              () => chance,
            );
            if (!verdict.retry) break;
            left -= verdict.delayMs;
            expect(left).toBeGreaterThan(0);
          }
          expect(attempts).toBeLessThanOrEqual(1 + maxRetry);
        },
      ),
    );
  });
});

describe('retriesAllowed', () => {
  it.each([
    [3, 10, 3],
    [3, 1, 1],
    [0, 10, 0],
    [3, 0, 0],
    [3, -2, 0],
  ])('max_retry %i with %i left of the tree gives %i', (maxRetry, treeLeft, expected) => {
    expect(retriesAllowed(maxRetry, treeLeft)).toBe(expected);
  });
});

describe('Retry-After', () => {
  const now = Date.parse('2026-01-01T00:00:00Z');
  it.each([
    ['2', 2_000],
    [' 0 ', 0],
    ['Thu, 01 Jan 2026 00:00:05 GMT', 5_000],
    ['Wed, 31 Dec 2025 23:59:00 GMT', undefined],
    ['-1', undefined],
    ['1e9', undefined],
    ['99999999', undefined],
    ['604801', undefined],
    ['soon', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('%p → %p ms', (header, expected) => {
    expect(parseRetryAfterMs(header, now)).toBe(expected);
  });
});

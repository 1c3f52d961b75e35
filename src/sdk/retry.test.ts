import fc from 'fast-check';
import { ReachError } from '../protocol/reach-error';
import { answerFailure, AttemptTimeout, mayRepeat, networkCode, networkFailure, pauseMs } from './retry';

const coded = (code: string) => Object.assign(new Error(code), { code });

describe('what may be repeated', () => {
  it.each([
    ['ECONNREFUSED', true, true],
    ['UND_ERR_CONNECT_TIMEOUT', true, true],
    ['ECONNRESET', true, false],
    ['UND_ERR_SOCKET', true, false],
    ['ENOTFOUND', false, false],
    ['CERT_HAS_EXPIRED', false, false],
  ])('%s: with an idempotent request %s, otherwise %s', (code, always, unsent) => {
    const failure = networkFailure(coded(code), 'http://gateway');
    expect(failure.error.code).toBe('engine_unavailable');
    expect(mayRepeat(failure, 'always')).toBe(always);
    expect(mayRepeat(failure, 'unsent')).toBe(unsent);
    expect(mayRepeat(failure, 'never')).toBe(false);
  });

  it.each([
    ['engine_unavailable', true, false],
    ['rate_limited', true, true],
    ['circuit_open', false, false],
    ['no_ready_instance', false, false],
    ['agent_error', false, false],
    ['payload_schema_mismatch', false, false],
  ] as const)('an answer of %s: %s, %s', (code, always, unsent) => {
    const failure = answerFailure(new ReachError(code, 'x'));
    expect(mayRepeat(failure, 'always')).toBe(always);
    expect(mayRepeat(failure, 'unsent')).toBe(unsent);
  });

  it('finds the code of wrapped and grouped errors', () => {
    expect(networkCode(new AggregateError([coded('ECONNREFUSED'), coded('ETIMEDOUT')]))).toBe('ECONNREFUSED');
    expect(networkCode(new TypeError('fetch failed', { cause: coded('ECONNRESET') }))).toBe('ECONNRESET');
    expect(networkCode('a string')).toBeUndefined();
  });

  it('says so when an answer did not come in time', () => {
    expect(networkFailure(new AttemptTimeout(1500), 'http://gateway').error.message).toContain(
      'did not answer within 1500 ms',
    );
  });
});

describe('pauseMs', () => {
  it('doubles from 100 ms to 2 s with ±50 % jitter', () => {
    expect([1, 2, 3, 4, 5, 6].map((n) => pauseMs(n, undefined, () => 0.5))).toEqual([100, 200, 400, 800, 1600, 2000]);
    const property = fc.property(
      fc.integer({ min: 1, max: 10_000 }),
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      (n, x) => {
        const ideal = Math.min(2000, 100 * 2 ** Math.min(n - 1, 16));
        const pause = pauseMs(n, undefined, () => x);
        expect(pause).toBeGreaterThanOrEqual(ideal / 2);
        expect(pause).toBeLessThanOrEqual(ideal * 1.5);
      },
    );
    fc.assert(property);
  });

  it('waits at least as long as it was asked to', () => {
    expect(pauseMs(1, 7_000, () => 0)).toBe(7_000);
    expect(pauseMs(9, 1, () => 0)).toBe(1_000);
  });

  it('spreads out those who were asked for the same', () => {
    expect(pauseMs(1, 1_000, () => 0.5)).toBe(1_250);
    expect(pauseMs(1, 60_000, () => 0.5)).toBe(61_000);
    const property = fc.property(
      fc.integer({ min: 1, max: 100 }),
      fc.integer({ min: 1, max: 600_000 }),
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      (n, asked, x) => {
        const least = pauseMs(n, asked, () => 0);
        expect(least).toBeGreaterThanOrEqual(asked);
        const more = pauseMs(n, asked, () => x) - least;
        expect(more).toBeGreaterThan(x * Math.min(2_000, asked / 2) - 0.001);
        expect(more).toBeLessThanOrEqual(2_000);
      },
    );
    fc.assert(property);
  });
});

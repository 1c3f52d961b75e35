import fc from 'fast-check';
import type { InstanceHealth } from '../../protocol/shapes';
import { nextHealth, UNKNOWN_HEALTH } from './health-state';

const NOW = new Date('2026-01-01T00:00:00Z');
/** `+` a success, `-` a failure. */
const after = (probes: string) =>
  [...probes].reduce(
    (state, probe) => nextHealth(state, probe === '+' ? { ok: true } : { ok: false, reason: 'answered HTTP 500' }, NOW),
    UNKNOWN_HEALTH,
  );

it.each<[string, InstanceHealth]>([
  ['', 'unknown'],
  ['+', 'passing'],
  ['--', 'unknown'],
  ['---', 'failing'],
  ['--+', 'passing'],
  ['+--', 'passing'],
  ['+--+--', 'passing'],
  ['+---', 'failing'],
  ['---+', 'failing'],
  ['---+-+', 'failing'],
  ['---++', 'passing'],
  ['---++--', 'passing'],
])('after %j it is %s', (probes, state) => {
  expect(after(probes).state).toBe(state);
});

it('since and reason change only when the state does', () => {
  const failing = after('---');
  expect(failing).toMatchObject({ since: NOW.toISOString(), reason: 'answered HTTP 500, 3 times in a row' });
  const later = nextHealth(failing, { ok: false, reason: 'no answer' }, new Date('2027-01-01T00:00:00Z'));
  expect(later).toMatchObject({ since: failing.since, reason: failing.reason });
});

it('two in a row are enough for passing and three for failing, whatever came before', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('+', '-'), maxLength: 30 }), (probes) => {
      expect(after(`${probes}++`).state).toBe('passing');
      expect(after(`${probes}---`).state).toBe('failing');
    }),
  );
});

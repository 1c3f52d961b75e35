import { utcTime } from './clock-time';

it.each([
  ['2026-03-01T12:03:01.000Z', '12:03:01 UTC'],
  ['2026-03-01T12:03:01Z', '12:03:01 UTC'],
  ['2026-03-01T12:03:01+08:00', '04:03:01 UTC'],
  ['soon', 'soon'],
])('%s is told as %s', (iso, told) => expect(utcTime(iso)).toBe(told));

import { InvalidArgumentError } from 'commander';
import { collectPair, parseDuration, parsePort, parseSince, parseWhole } from './parse';

describe('parseDuration', () => {
  it.each([
    ['500ms', 500],
    ['30s', 30_000],
    ['1.5m', 90_000],
    ['2h', 7_200_000],
    ['1d', 86_400_000],
    ['250', 250],
    ['0', 0],
  ])('%s is %i ms', (text, ms) => expect(parseDuration(text)).toBe(ms));

  it.each(['', 's', '-1s', '1e3', '0x10', '1 s', '5w', '1.2.3s', 'Infinity'])('refuses `%s`', (text) =>
    expect(() => parseDuration(text)).toThrow(InvalidArgumentError),
  );
});

it('takes whole numbers within their bounds only', () => {
  expect([parsePort('0'), parsePort('65535'), parseWhole('7', 1, 9)]).toEqual([0, 65_535, 7]);
  for (const bad of ['65536', '-1', '1.0', '', ' 1', '0x1f'])
    expect(() => parsePort(bad)).toThrow(InvalidArgumentError);
});

it('reads a time or how long ago it was', () => {
  const now = new Date('2026-03-01T12:00:00Z');
  expect(parseSince('15m', now)).toBe('2026-03-01T11:45:00.000Z');
  expect(parseSince('2026-02-28T00:00:00+01:00', now)).toBe('2026-02-27T23:00:00.000Z');
  expect(parseSince('2026-02-28', now)).toBe('2026-02-28T00:00:00.000Z');
  expect(parseSince('2026-02-28T10:00Z', now)).toBe('2026-02-28T10:00:00.000Z');
});

// `Date.parse` makes something of the second to the seventh.
it.each(['yesterday', '2', '15', '2026', '15 m', '2026-2-1', '03/01/2026', '2026-13-01', '', '99999999999d'])(
  'refuses the time `%s`',
  (text) => expect(() => parseSince(text)).toThrow(InvalidArgumentError),
);

it('collects pairs; a value may contain an equals sign and be empty', () => {
  expect(collectPair('b=2=3', collectPair('a=', undefined))).toEqual({ a: '', b: '2=3' });
  expect(() => collectPair('=x', undefined)).toThrow(InvalidArgumentError);
});

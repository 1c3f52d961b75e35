import { readOptions, UsageError } from './options';
import { NOT_APPLICABLE, SCENARIOS } from './rows';

it('every row of the matrix is run, or named as not applicable yet, once', () => {
  const rows = [...SCENARIOS, ...NOT_APPLICABLE].map(({ row }) => row).sort((a, b) => a - b);
  expect(rows).toEqual(rows.map((_, index) => index + 1));
  expect(rows.length).toBeGreaterThanOrEqual(27);
});

it('runs everything once by default', () => {
  const { rows, ...rest } = readOptions([], 7);
  expect(rows).toHaveLength(SCENARIOS.length + NOT_APPLICABLE.length);
  expect(rest).toEqual({
    seeds: [7],
    jobs: 1,
    limitMs: Number.POSITIVE_INFINITY,
    reaches: 10_000,
    json: null,
    planted: false,
  });
});

it('takes rows, seeds and limits', () => {
  expect(readOptions(['--rows', '21,1', '--seeds', '3', '--jobs', '2', '--minutes', '2', '--json', 'f'], 7)).toEqual({
    rows: [1, 21],
    seeds: [7, 8, 9],
    jobs: 2,
    limitMs: 120_000,
    reaches: 10_000,
    json: 'f',
    planted: false,
  });
  expect(readOptions(['--seed', '42', '--seeds', '3'], 7).seeds).toEqual([42]);
});

it('plants bugs when it is told to, in the rows that are asked for', () => {
  expect(readOptions(['--planted', '--rows', '22'], 7)).toMatchObject({ planted: true, rows: [22], seeds: [7] });
});

it.each([
  ['--planted=no'],
  ['--rows 99'],
  ['--rows x'],
  ['--seeds 0'],
  ['--jobs none'],
  ['--minutes 1.5'],
  ['--colour red'],
  ['stray'],
])('refuses %s', (line) => {
  expect(() => readOptions(line.split(' '), 1)).toThrow(UsageError);
});

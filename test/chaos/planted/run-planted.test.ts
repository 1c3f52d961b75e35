import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { SCENARIOS } from '../rows';
import { PLANTED_BUGS } from './bugs';
import { bugsOf, judgePlanted, plantedTable } from './run-planted';

const bug = { name: 'sends twice', row: 1, rules: ['sent_again', 'attempt_not_recorded'] } as const;
const report = { seed: 3, violations: [] as string[], problems: [] as string[], notes: [] };

it('a bug is caught by its own rule, not by a row that fails for another reason', () => {
  const caught = judgePlanted(bug, { ...report, violations: ['sent_again r-1: twice', 'stale_result r-2: old'] });
  expect(caught).toMatchObject({ verdict: 'caught', found: ['sent_again'], others: ['stale_result r-2: old'] });
  const failed = { ...report, violations: ['stale_result r-2: old'], problems: ['only 3 of 9 completed'] };
  expect(judgePlanted(bug, failed)).toMatchObject({ verdict: 'missed', found: [] });
  expect(judgePlanted(bug, { ...report, violations: ['sent_again_and_more r-1: x'] }).verdict).toBe('missed');
});

it('tells which was missed, and what was found instead', () => {
  const missed = judgePlanted(bug, { ...report, problems: ['nothing could be tried'] });
  const table = plantedTable([missed, { ...missed, bug: 'other', found: ['sent_again'], verdict: 'caught' }]);
  expect(table).toContain('MISSED');
  expect(table).toContain('nothing could be tried');
  expect(table).toContain('1 of 2 planted bugs were caught');
});

it('every bug has its program and a row that can be run', () => {
  for (const { preload, row } of PLANTED_BUGS) {
    expect(existsSync(join(__dirname, preload.replace(/js$/, 'ts')))).toBe(true);
    expect(SCENARIOS.map((each) => each.row)).toContain(row);
  }
  expect(bugsOf([PLANTED_BUGS[0]!.row])).toContain(PLANTED_BUGS[0]);
  expect(bugsOf([])).toEqual([]);
});

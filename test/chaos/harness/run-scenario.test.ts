import { judge } from './run-scenario';
import type { Scenario } from './scenario';

const scenario: Scenario = { row: 1, name: 'a row', floor: 0.9, stage: {}, run: () => Promise.resolve() };
const played = (more: Partial<Parameters<typeof judge>[1]> = {}): Parameters<typeof judge>[1] => ({
  ...{ problems: [], notes: [], violations: [], messages: 10, succeeded: 10, recoveryMs: 1, evidence: null },
  defects: new Set<string>(),
  otherwise: new Map<string, number>(),
  ...more,
});
const DEFECT = 'POST answered 500 internal: oh';

it('passes when nothing is wrong', () => {
  expect(judge(scenario, played(), [])).toMatchObject({ verdict: 'passed', problems: [], notes: [] });
});

it.each<[what: string, Partial<Parameters<typeof judge>[1]>, RegExp]>([
  ['a defect', { defects: new Set([DEFECT]) }, /a defect of the platform: POST answered 500 internal: oh/],
  ['a problem', { problems: ['bad'] }, /^bad$/],
  ['too few that completed', { succeeded: 8 }, /only 8 of 10 completed, the floor is 90 %/],
  ['nothing sent', { messages: 0, succeeded: 0 }, /nothing was sent/],
])('fails because of %s', (_what, more, problem) => {
  const { verdict, problems } = judge(scenario, played(more), []);
  expect(verdict).toBe('failed');
  expect(problems).toEqual([expect.stringMatching(problem)]);
});

it('notes defects with the reason where a row says that they cannot be avoided', () => {
  const report = judge({ ...scenario, toleratesDefects: 'on purpose' }, played({ defects: new Set([DEFECT]) }), []);
  expect(report).toMatchObject({
    verdict: 'passed',
    notes: [expect.stringContaining(`${DEFECT} (tolerated: on purpose)`)],
  });
});

it('fails because of broken promises and of a crash of its own', () => {
  expect(judge(scenario, played({ violations: ['sent_again r-1: twice'] }), []).verdict).toBe('failed');
  expect(judge(scenario, played(), ['the scenario broke off']).verdict).toBe('failed');
});

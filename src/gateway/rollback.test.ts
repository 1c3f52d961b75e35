import type { RouteEntry } from '../protocol/route-table';
import type { CanaryVersion } from '../routing/versions';
import { rollbackAlert, rolledBack } from './rollback';

const to = (version: string, weight: number, from = 'default', ability = 'mend'): RouteEntry => ({
  ability,
  from,
  to: `a#${version}`,
  weight,
});
const canary: CanaryVersion = {
  agentName: 'a',
  ability: 'mend',
  canary: '2.0.0',
  stable: '1.0.0',
  groups: ['default'],
};

it('the weight becomes 0 where it is a canary, and nowhere else', () => {
  const others = [to('2.0.0', 5, 'beta'), to('2.0.0', 5, 'default', 'paint'), to('1.5.0', 2)];
  const table = [to('1.0.0', 90), to('2.0.0', 10), ...others];
  expect(rolledBack(table, canary)).toEqual([to('1.0.0', 90), to('2.0.0', 0), ...others]);
});

it('one that no route lists is barred by one, beside a route for the stable version: all zero would be no table', () => {
  expect(rolledBack([], canary)).toEqual([to('1.0.0', 100), to('2.0.0', 0)]);
  expect(rolledBack([to('1.0.0', 3)], canary)).toEqual([to('1.0.0', 3), to('2.0.0', 0)]);
});

it('once is enough, and one that bears the most by now is left alone', () => {
  expect(rolledBack([to('1.0.0', 90), to('2.0.0', 0)], canary)).toBeNull();
  expect(rolledBack([to('1.0.0', 1), to('2.0.0', 10)], canary)).toBeNull();
});

it('of two that bear the same the canary is still one, whichever is listed first', () => {
  expect(rolledBack([to('2.0.0', 50), to('1.0.0', 50)], canary)).toEqual([to('2.0.0', 0), to('1.0.0', 50)]);
  expect(rolledBack([to('1.0.0', 50), to('2.0.0', 50)], canary)).toEqual([to('1.0.0', 50), to('2.0.0', 0)]);
});

it('the alert has the figures', () => {
  const verdict = {
    by: 'latency' as const,
    p: 0.00012,
    threshold: 0.003,
    canary: 812.4,
    stable: 203.9,
    requests: { canary: 64, stable: 1200 },
    look: 1,
  };
  const { message, details, severity } = rollbackAlert(canary, verdict, 0);
  expect(severity).toBe('critical');
  expect(message).toMatch(
    /^a 2\.0\.0 takes 812 ms of mend, 1\.0\.0 204 ms \(p 1\.2e-4, needed 3\.0e-3, 64 and 1200 calls\)/,
  );
  expect(details).toMatchObject({ agent_version: '2.0.0', stable_version: '1.0.0', by: 'latency', p: 0.00012 });
  expect(message).not.toContain('groups that no route names');
  expect(rollbackAlert(canary, verdict, 0.01).message).toContain(
    'in the group default, but groups that no route names still give it 1 % (to bar it there too: agent-reach routes set mend GROUP a#1.0.0=100 a#2.0.0=0); mend it',
  );
});

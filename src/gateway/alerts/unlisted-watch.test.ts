import { agent, world } from '../../../test/routing/fixtures';
import { routeTable, type RouteEntry } from '../../protocol/route-table';
import { unlistedVersions } from '../../routing/versions';
import { alertOf } from './unlisted-watch';

const version = (number: string, minute: number) => ({
  ...agent({ name: 'a', version: number, capabilities: ['mend'] }),
  registered_at: `2026-03-01T12:0${minute}:00.000Z`,
});
const to = (number: string, weight: number, from = 'default'): RouteEntry => ({
  ability: 'mend',
  from,
  to: `a#${number}`,
  weight,
});
const told = (agents: ReturnType<typeof version>[], routes: RouteEntry[] = []) =>
  unlistedVersions({ ...world({ agents }), routes: routeTable(routes, { etag: '"1"' }) }).map(
    (found) => alertOf(found).message,
  );

test('the example gives a newcomer 5 % beside the version that has the calls', () => {
  expect(told([version('1.0.0', 0), version('1.1.0', 1)])).toEqual([
    'a 1.1.0 is new and no route lists it: it gets 1 % of mend in the group default, 1.0.0 the rest; say what it is to get, for example: agent-reach routes set mend default a#1.0.0=95 a#1.1.0=5',
  ]);
});

test('the example keeps what routes say, above all who gets nothing, and each group has its own stable version', () => {
  const agents = [version('1.0.0', 0), version('1.1.0', 1), version('1.2.0', 2)];
  const [message] = told(agents, [to('1.0.0', 190), to('1.1.0', 0), to('1.1.0', 1, 'vip')]);
  expect(message).toContain('mend in the group default, 1.0.0 the rest; of mend in the group vip, 1.1.0 the rest');
  expect(message).toMatch(/routes set mend default a#1\.0\.0=190 a#1\.1\.0=0 a#1\.2\.0=10$/);
});

describe('the example never gives a newcomer more than about 5 % of the calls', () => {
  const example = (versions: string[], routes: RouteEntry[]) => {
    const agents = versions.map((number, minute) => version(number, minute));
    return told(agents, routes)
      .map((message) => /routes set mend default (.*)$/.exec(message)![1])
      .at(-1);
  };

  test('when routes list only versions that were removed', () => {
    expect(example(['1.0.0', '1.1.0'], [to('0.9.0', 100)])).toBe('a#0.9.0=100 a#1.0.0=95 a#1.1.0=5');
    expect(example(['1.0.0', '1.1.0'], [to('0.9.0', 1_900), to('1.0.0', 95)])).toBe(
      'a#0.9.0=1900 a#1.0.0=95 a#1.1.0=5',
    );
  });

  test('when routes only say who gets nothing', () => {
    expect(example(['1.0.0', '1.1.0', '1.2.0'], [to('1.1.0', 0)])).toBe('a#1.1.0=0 a#1.0.0=95 a#1.2.0=5');
  });

  test('when weights are small', () => {
    expect(example(['1.0.0', '1.1.0'], [to('1.0.0', 1)])).toBe('a#1.0.0=19 a#1.1.0=1');
    expect(example(['1.0.0', '1.1.0', '1.2.0'], [to('1.0.0', 9), to('1.1.0', 1)])).toBe(
      'a#1.0.0=18 a#1.1.0=2 a#1.2.0=1',
    );
  });
});

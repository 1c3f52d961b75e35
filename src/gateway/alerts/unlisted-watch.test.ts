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

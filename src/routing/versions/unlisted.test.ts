import { agent, world } from '../../../test/routing/fixtures';
import { routeTable, type FormerRoute, type RouteEntry } from '../../protocol/route-table';
import { canaries, shareUnnamed, unlistedVersions } from './unlisted';

const version = (number: string, minute: number, abilities = ['mend']) => ({
  ...agent({ name: 'a', version: number, capabilities: abilities }),
  registered_at: `2026-03-01T12:0${minute}:00.000Z`,
});
const to = (number: string, weight: number, from = 'default'): RouteEntry => ({
  ability: 'mend',
  from,
  to: `a#${number}`,
  weight,
});
const seen = (agents: ReturnType<typeof version>[], routes: RouteEntry[] = [], former: FormerRoute[] = []) => ({
  ...world({ agents }),
  routes: routeTable(routes, { etag: '"1"', former }),
});
const told = (given: ReturnType<typeof seen>) =>
  unlistedVersions(given).map(({ agent: { version: number }, beside, where }) => [
    number,
    beside,
    where.map(({ ability, group, share }) => `${ability} ${group} ${share}`),
  ]);

it("an agent's first version is exempt; each later one is told of until a route lists it", () => {
  expect(told(seen([version('1.0.0', 0)]))).toEqual([]);
  const three = [version('1.0.0', 0), version('1.1.0', 1), version('1.2.0', 2)];
  expect(told(seen(three))).toEqual([
    ['1.1.0', '1.0.0', ['mend default 0.01']],
    ['1.2.0', '1.0.0', ['mend default 0.01']],
  ]);
  expect(told(seen(three, [to('1.0.0', 9), to('1.1.0', 1), to('1.2.0', 0)]))).toEqual([]);
});

it('a group that routes speak of is looked at as well', () => {
  const two = [version('1.0.0', 0), version('1.1.0', 1)];
  expect(told(seen(two, [to('1.1.0', 1, 'beta'), to('1.0.0', 1, 'vip')]))).toEqual([
    ['1.1.0', '1.0.0', ['mend default 0.01', 'mend vip 0.01']],
  ]);
});

it('an ability that only the new version has is no canary, nor is a pre-release, nor a descriptor that was replaced', () => {
  expect(told(seen([version('1.0.0', 0), version('1.1.0', 1, ['paint'])]))).toEqual([]);
  expect(told(seen([version('1.0.0', 0), version('1.1.0-rc.1', 1)]))).toEqual([]);
  const replaced = { ...version('1.0.0', 5), first_registered_at: '2026-03-01T12:00:00.000Z' };
  expect(told(seen([replaced, version('1.1.0', 1)]))).toEqual([['1.1.0', '1.0.0', ['mend default 0.01']]]);
});

it('the version that bore the most before its routes were taken out is no newcomer', () => {
  const two = [version('1.0.0', 0), version('1.1.0', 1)];
  expect(told(seen(two, [], [{ ability: 'mend', from: 'default', to: 'a#1.1.0' }]))).toEqual([]);
});

it('canaries are all that bear less than another, with the groups where they do', () => {
  const two = [version('1.0.0', 0), version('1.1.0', 1)];
  const routes = [to('1.0.0', 9), to('1.1.0', 1), to('1.1.0', 9, 'beta'), to('1.0.0', 1, 'beta')];
  expect(canaries(seen(two, routes))).toEqual([
    { agentName: 'a', ability: 'mend', canary: '1.1.0', stable: '1.0.0', groups: ['default'] },
    { agentName: 'a', ability: 'mend', canary: '1.0.0', stable: '1.1.0', groups: ['beta'] },
  ]);
  expect(canaries(seen(two, [to('1.0.0', 9), to('1.1.0', 0)]))).toEqual([]);
});

it('in a group that no route names a version has its share by age alone, whatever routes say elsewhere', () => {
  const barred = seen([version('1.0.0', 0), version('1.1.0', 1)], [to('1.0.0', 9), to('1.1.0', 0)]);
  const of = (canary: string, agentName = 'a') => shareUnnamed(barred, { agentName, ability: 'mend', canary });
  expect([of('1.1.0'), of('1.0.0'), of('2.0.0'), of('1.0.0', 'b')]).toEqual([0.01, 0.99, 0, 0]);
});

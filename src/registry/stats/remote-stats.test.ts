import type { Clock } from '../clock';
import { Keyspace } from '../keys';
import { encodeAgentDigest, seriesKey } from './agent-digest';
import { RemoteStats } from './remote-stats';
import { Series } from './series';

const clock: Clock = { monotonicMs: () => 0, wall: () => new Date(1_700_000_000_000) };
const quiet = () => undefined;
const keys = new Keyspace('/p', 'default');
const idOf = (instanceId: string) => seriesKey('desk', { instanceId });

function start() {
  const gone: string[][] = [];
  const logger = { debug: quiet, info: quiet, warn: quiet, error: quiet };
  const onGone = (these: string[]) => void gone.push(these);
  const remote = new RemoteStats({ keys, logger, ownProcessId: 'me', clock, onGone });
  /** What a process tells of these instances; null: it is gone. */
  const tell = (processId: string, instances: string[] | null) => {
    const digest = new Series(0).digest({ nowMs: 0, halfLifeMs: 1_000 });
    const series = (instances ?? []).map((instanceId) => ({ id: { instanceId }, digest }));
    const value = Buffer.from(encodeAgentDigest(series, { nowMs: 0, wallSec: 1_700_000_000 }));
    remote.apply([{ key: keys.digest(processId, 'desk'), entry: instances && { value, modRevision: 1 } }]);
  };
  const kept = () => (Reflect.get(remote, 'series') as Map<string, unknown>).size;
  return { remote, gone, tell, kept };
}

it('forgets a series when the last process that measured it tells of it no more', () => {
  const { remote, gone, tell, kept } = start();
  tell('p1', ['a', 'b']);
  tell('p2', ['b']);
  expect(kept()).toBe(2);
  tell('p1', ['c']);
  expect([kept(), gone]).toEqual([2, [[idOf('a')]]]);
  expect([remote.version(idOf('a')), remote.digests(idOf('a'))]).toEqual([0, []]);
  expect(remote.digests(idOf('b'))).toHaveLength(1);
  tell('p2', null);
  tell('p1', null);
  expect([kept(), gone]).toEqual([0, [[idOf('a')], [idOf('b')], [idOf('c')]]]);
});

it('keeps nothing however many instances come and go', () => {
  const { tell, kept } = start();
  for (let n = 0; n < 1_000; n++) tell('p1', [`pod-${n}`]);
  expect(kept()).toBe(1);
});

it('a series that is told again is not one of before', () => {
  const { remote, gone, tell } = start();
  const seen: number[] = [];
  for (const instances of [['a'], ['a'], null, ['a'], ['b'], ['a', 'b']]) {
    tell('p1', instances);
    if (instances?.includes('a')) seen.push(remote.version(idOf('a')));
  }
  expect(seen).toEqual([...new Set(seen)].sort((one, other) => one - other));
  expect(seen).toHaveLength(4);
  expect(gone).toEqual([[idOf('a')], [idOf('a')]]);
});

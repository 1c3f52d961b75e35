import { judgeConnects, judgeReuse } from './connections';
import { judgeDeadLetters } from './dead-letters';
import {
  judgeAttributes,
  judgeClocks,
  judgeEtcdSpace,
  judgeEtcdVersion,
  judgeLostMember,
  judgeRetention,
  judgeTemporalVersion,
  judgeTimers,
  judgeWorkers,
} from './engines';
import { isOnThisMachine } from './etcd-probe';

const DAY_MS = 86_400_000;
const MIB = 1_024 ** 2;
const severities = (findings: { severity: string }[]) => findings.map(({ severity }) => severity);

it.each([
  ['1.32.0', 'ok'],
  ['1.28.0', 'ok'],
  ['2.0.0', 'ok'],
  ['1.27.9', 'error'],
  ['', 'error'],
])('Temporal %j: %s', (version, severity) => expect(severities(judgeTemporalVersion(version))).toEqual([severity]));

it.each([
  ['3.5.0', true, 'error'],
  ['3.5.1', true, 'error'],
  ['3.5.2', true, 'error'],
  ['3.5.2-rc.1', true, 'error'],
  ['3.5.1', false, 'warning'],
  ['3.5.3', true, 'ok'],
  ['3.5.21', true, 'ok'],
  ['3.4.27', true, 'ok'],
  ['3.6.0', true, 'ok'],
])('etcd %s, in production %s: %s', (version, production, severity) =>
  expect(severities(judgeEtcdVersion(version, production))).toEqual([severity]),
);

it.each([
  ['127.0.0.1:2379', true],
  ['http://localhost:2379', true],
  ['[::1]:2379', true],
  ['etcd-0.etcd:2379', false],
  ['https://10.0.0.1:2379', false],
])('%s is on this machine: %s', (host, here) => expect(isOnThisMachine(host)).toBe(here));

it.each([
  [7 * DAY_MS, 'ok'],
  [DAY_MS, 'warning'],
  [DAY_MS / 2, 'error'],
])('a retention of %i ms: %s', (ms, severity) => expect(severities(judgeRetention('default', ms))).toEqual([severity]));

it('names the search attributes that are missing, in a command', () => {
  expect(judgeAttributes('ns', ['ReachAgent', 'ReachStatus'], 6)[0]).toMatchObject({
    severity: 'error',
    command:
      'temporal operator search-attribute create --namespace ns --name ReachAgent --type Keyword --name ReachStatus --type Keyword',
  });
  expect(severities(judgeAttributes('ns', [], 6))).toEqual(['ok']);
});

it('workers that are not there, and those that are behind', () => {
  const seen = {
    taskQueue: 'q',
    workflowPollers: 5,
    activityPollers: 5,
    backlog: 0,
    backlogAgeMs: 0,
    maxBacklogAgeMs: 5_000,
  };
  expect(severities(judgeWorkers(seen))).toEqual(['ok']);
  expect(severities(judgeWorkers({ ...seen, activityPollers: 0 }))).toEqual(['error']);
  expect(severities(judgeWorkers({ ...seen, backlog: 9, backlogAgeMs: 6_000 }))).toEqual(['warning']);
});

it('timers', () => {
  expect(severities(judgeTimers(60, 200))).toEqual(['ok']);
  expect(judgeTimers(950, 200)[0]).toMatchObject({
    severity: 'warning',
    measured: 'a timer of 200 ms fired 950 ms late',
  });
});

it.each([
  [{ bytes: 20 * MIB, inUseBytes: 10 * MIB, alarms: [] }, 'ok'],
  [{ bytes: 300 * MIB, inUseBytes: 10 * MIB, alarms: [] }, 'info'],
  [{ bytes: 1_900 * MIB, inUseBytes: 1_800 * MIB, alarms: [] }, 'warning'],
  [{ bytes: 20 * MIB, inUseBytes: 10 * MIB, alarms: ['NOSPACE'] }, 'error'],
])('etcd with %j: %s', (space, severity) => expect(severities(judgeEtcdSpace(space))).toEqual([severity]));

it('clocks: what lies within the exactness of the measurement is no skew', () => {
  const clock = (aheadMs: number, withinMs: number) => [{ whose: 'etcd', aheadMs, withinMs }];
  expect(severities(judgeClocks(clock(2_400, 500), 'the gateway'))).toEqual(['ok']);
  expect(judgeClocks(clock(-5_000, 500), 'the gateway')[0]).toMatchObject({
    severity: 'warning',
    subject: 'etcd',
    measured: 'its clock is 5.0 s behind that of the gateway',
  });
  expect(severities(judgeClocks(clock(90_000, 500), 'the gateway'))).toEqual(['error']);
});

describe('connections', () => {
  const origin = (more: object) => ({ origin: 'http://a:1', requests: 0, connections: 0, failures: 0, ...more });

  it('that are used again, closed by one agent, or too few to say', () => {
    expect(judgeReuse({ origins: [origin({ requests: 100, connections: 4 })], forMs: 10_000 })).toEqual([
      expect.objectContaining({ severity: 'ok', measured: '0.40 new connections/s for 10.00 requests/s' }),
    ]);
    const closing = judgeReuse({
      origins: [
        origin({ requests: 100, connections: 4 }),
        origin({ origin: 'http://b:1', requests: 30, connections: 30 }),
      ],
      forMs: 10_000,
    });
    expect(closing).toEqual([expect.objectContaining({ severity: 'warning', subject: 'http://b:1' })]);
    expect(judgeReuse({ origins: [origin({ requests: 3, connections: 3 })], forMs: 1 })[0]).toMatchObject({
      checked: false,
    });
  });

  it('that fail', () => {
    const judged = (connections: number, failures: number) =>
      judgeConnects({ origins: [origin({ connections, failures })], forMs: 1 });
    expect(severities(judged(1_000, 1))).toEqual(['ok']);
    expect(judged(90, 10)[0]).toMatchObject({ severity: 'warning', measured: '10 of 100 connects failed' });
    expect(severities(judged(0, 10))).toEqual(['error']);
    expect(judged(0, 0)[0]).toMatchObject({ checked: false });
  });
});

it('a member of etcd that is down while others are up', () => {
  const lost = { host: 'etcd-2:2379', members: 3 };
  expect(judgeLostMember('etcd.version', lost)).toEqual([
    expect.objectContaining({
      severity: 'error',
      subject: 'etcd-2:2379',
      measured: expect.stringContaining('of 3 hosts'),
    }),
  ]);
  expect(judgeLostMember('etcd.space', lost)[0]).toMatchObject({ checked: false, subject: 'etcd-2:2379' });
});

it('dead letters', () => {
  const letters = [
    { reach_id: 'r-2', expires_at: '2026-03-01T13:00:00Z' },
    { reach_id: 'r-1', expires_at: '2026-03-01T12:00:00Z' },
  ];
  expect(severities(judgeDeadLetters({ letters: [], more: false, beforeMs: DAY_MS }))).toEqual(['ok']);
  // None was found in time, which is not to say that there is none.
  expect(judgeDeadLetters({ letters: [], more: true, beforeMs: DAY_MS })[0]).toMatchObject({ checked: false });
  expect(judgeDeadLetters({ letters, more: false, beforeMs: DAY_MS })[0]).toMatchObject({
    severity: 'warning',
    measured: '2 expire within 24 h, the first at 2026-03-01T12:00:00Z',
    command: 'agent-reach dead-letters show r-1',
  });
  expect(judgeDeadLetters({ letters, more: true, beforeMs: DAY_MS })[0]).toMatchObject({
    measured: '2 or more expire within 24 h, the first of those seen at 2026-03-01T12:00:00Z',
  });
});

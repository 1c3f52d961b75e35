import { agent, world } from '../../test/routing/fixtures';
import { absent } from '../registry/etcd/etcd-ops';
import type { Trial } from '../policy/canary';
import { routeTable, type RouteEntry } from '../protocol/route-table';
import type { AlertInput } from './alerts';
import { CanaryWatch } from './canary-watch';

type Totals = Record<string, [requests: number, failures: number]>;
type Latencies = { ms: number; count: number }[];

const version = (number: string, minute: number) => ({
  ...agent({ name: 'a', version: number, capabilities: ['mend'] }),
  registered_at: `2026-03-01T12:0${minute}:00.000Z`,
});
const to = (number: string, weight: number): RouteEntry => ({
  ability: 'mend',
  from: 'default',
  to: `a#${number}`,
  weight,
});
const SILENT = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const quick = [{ ms: 100, count: 400 }];
const slow = [{ ms: 200, count: 400 }];

/** A watch over versions 1.0.0 and 2.0.0, and all that it sees and does. */
function watched(routes: RouteEntry[] = [to('1.0.0', 50), to('2.0.0', 50)]) {
  const state = {
    table: routes,
    /** What others wrote that the view has not seen. */
    unseen: null as RouteEntry[] | null,
    told: {} as Record<string, { totals: Totals; latencies: Latencies }>,
    stored: new Map<string, Trial>(),
    term: 'lease-1' as string | null,
    checks: 0,
    nowMs: 0,
    alerts: [] as AlertInput[],
  };
  const watch = new CanaryWatch({
    world: () => ({
      ...world({ agents: [version('1.0.0', 0), version('2.0.0', 1)] }),
      routes: routeTable(state.table, { etag: JSON.stringify(state.table) }),
    }),
    counted: (_name, number) => {
      const { totals = {}, latencies = [] } = state.told[number] ?? {};
      const rows = Object.entries(totals).map(([id, [requests, failures]]) => [id, { requests, failures }] as const);
      return { totals: new Map(rows), latencies };
    },
    trials: {
      load: () => Promise.resolve(new Map(state.stored)),
      save: (id, trial) => {
        if (trial === null) state.stored.delete(id);
        else state.stored.set(id, trial);
        return Promise.resolve(true);
      },
    },
    table: {
      change: (change) => {
        const before = state.unseen ?? state.table;
        state.table = [...(change({ entries: before, etag: '', exists: true }) ?? before)];
        state.unseen = null;
        return Promise.resolve({ entries: state.table, etag: '', exists: true });
      },
    },
    alerts: { raise: (alert) => Promise.resolve(state.alerts.push(alert) > 0) },
    leader: {
      check: () => Promise.resolve((state.checks += 1) > 0 && state.term !== null),
      get term() {
        return state.term;
      },
      get fence() {
        return state.term === null ? null : absent('key');
      },
      depose: () => (state.term = null),
    },
    settings: { alpha: 0.01, minRequests: 50, minErrorIncrease: 0.01, minLatencyRatio: 1.25 },
    intervalMs: 60_000,
    leadEveryMs: 5,
    monotonicMs: () => state.nowMs,
    logger: SILENT,
  });
  const tell = (stable: Totals, canary: Totals, latencies: { stable?: Latencies; canary?: Latencies } = {}) => {
    state.told = {
      '1.0.0': { totals: stable, latencies: latencies.stable ?? [] },
      '2.0.0': { totals: canary, latencies: latencies.canary ?? [] },
    };
    return watch.tick();
  };
  return { watch, state, tell, trial: () => [...state.stored.values()][0] };
}

describe('a canary that fails', () => {
  it('is rolled back from an even split, whichever is listed first', async () => {
    for (const routes of [
      [to('2.0.0', 50), to('1.0.0', 50)],
      [to('1.0.0', 50), to('2.0.0', 50)],
    ]) {
      const { state, tell } = watched(routes);
      await tell({ w: [10, 0] }, { w: [10, 0] });
      await tell({ w: [210, 0] }, { w: [210, 100] });
      expect(state.table).toContainEqual(to('2.0.0', 0));
      expect(state.table).toContainEqual(to('1.0.0', 50));
      expect(state.alerts).toHaveLength(1);
    }
  });

  it('raises no alert when somebody has changed its routes first', async () => {
    for (const routes of [
      [to('1.0.0', 1), to('2.0.0', 99)],
      [to('1.0.0', 1), to('2.0.0', 0)],
    ]) {
      const { state, tell } = watched();
      await tell({ w: [10, 0] }, { w: [10, 0] });
      state.unseen = routes;
      await tell({ w: [210, 0] }, { w: [210, 100] });
      expect(state.table).toEqual(routes);
      expect(state.alerts).toEqual([]);
    }
  });

  it('says that groups without routes still give it a newcomer’s share', async () => {
    const { state, tell } = watched([]);
    await tell({ w: [10, 0] }, { w: [10, 0] });
    await tell({ w: [210, 0] }, { w: [210, 100] });
    expect(state.alerts[0]!.details).toMatchObject({ groups: ['default'], share_elsewhere: 0.01 });
    expect(state.alerts[0]!.message).toContain('groups that no route names still give it 1 %');
  });
});

describe('a process that was not heard of for a while', () => {
  // It has seen hours of an outage, in which the canary bore most, and then nothing but good.
  const old: Totals = { w: [10_000, 1] };
  const bad: Totals = { w: [10_000, 5_000] };

  it('goes on from where it was, so that nothing is counted twice and nothing is lost', async () => {
    const { tell, trial, state } = watched();
    await tell({ ...old, v: [5, 0] }, { ...bad, v: [5, 0] });
    await tell({ v: [10, 0] }, { v: [10, 0] });
    await tell({ w: [10_020, 1], v: [15, 0] }, { w: [10_010, 5_000], v: [15, 0] });
    expect(trial()).toMatchObject({
      canary: { requests: 20, failures: 0 },
      stable: { requests: 30, failures: 0 },
    });
    expect(state.alerts).toEqual([]);
  });

  it('is no evidence when it comes after the first look, as after an outage of etcd', async () => {
    const { tell, trial, state } = watched();
    await tell({}, {});
    await tell(old, bad);
    await tell({ w: [10_020, 1] }, { w: [10_010, 5_000] });
    expect(trial()).toMatchObject({ canary: { requests: 10, failures: 0 }, stable: { requests: 20, failures: 0 } });
    expect(state.alerts).toEqual([]);
  });

  it('counts with all it has when it began anew', async () => {
    const { tell, trial } = watched();
    await tell(old, bad);
    await tell({ w: [3, 0] }, { w: [4, 1] });
    expect(trial()).toMatchObject({ canary: { requests: 4, failures: 1 }, stable: { requests: 3, failures: 0 } });
  });
});

describe('latencies', () => {
  const times = { stable: quick, canary: slow };

  it('are compared when the split has been the same for as long as they go back', async () => {
    const { tell, state } = watched();
    await tell({ w: [0, 0] }, { w: [0, 0] }, times);
    state.nowMs = 300_000;
    await tell({ w: [100, 0] }, { w: [100, 0] }, times);
    expect(state.alerts).toEqual([]);
    state.nowMs = 320_000;
    await tell({ w: [900, 0] }, { w: [900, 0] }, times);
    expect(state.alerts[0]!.details).toMatchObject({ by: 'latency', agent_version: '2.0.0' });
  });

  it('begin anew when the weights change', async () => {
    const { tell, state } = watched([to('1.0.0', 99), to('2.0.0', 1)]);
    await tell({ w: [0, 0] }, { w: [0, 0] }, times);
    state.nowMs = 400_000;
    state.table = [to('1.0.0', 50), to('2.0.0', 50)];
    await tell({ w: [100, 0] }, { w: [100, 0] }, times);
    state.nowMs = 700_000;
    await tell({ w: [900, 0] }, { w: [900, 0] }, times);
    expect(state.alerts).toEqual([]);
  });
});

describe('leadership', () => {
  it('is kept between two looks, however long the interval', async () => {
    const { watch, state } = watched();
    watch.start();
    while (state.checks < 3) await new Promise((resolve) => setTimeout(resolve, 5));
    await watch.stop();
    expect(state.stored.size).toBe(0);
  });

  it('won again means that another may have gone on with the trials', async () => {
    const { tell, trial, state } = watched();
    await tell({ w: [0, 0] }, { w: [0, 0] });
    await tell({ w: [10, 0] }, { w: [10, 0] });
    const [id] = [...state.stored.keys()];
    state.stored.set(id!, { ...trial()!, looks: 7 });
    state.term = 'lease-2';
    await tell({ w: [500, 0] }, { w: [500, 400] });
    await tell({ w: [510, 0] }, { w: [510, 400] });
    expect(trial()).toMatchObject({ looks: 7, canary: { requests: 20, failures: 0 } });
    expect(state.alerts).toEqual([]);
  });
});

import type { Clock } from '../../src/registry';
import { FIRST, KEY, failPast, failTogether, open, reaches, startHub } from './breakers-support';
import { eventually, openPlace, openRelay, refusal, sharedEtcdAddress, type Place } from './support';

let place: Place;
beforeEach(() => {
  place = openPlace();
});
afterEach(() => place.close());

const storedKeys = async () => {
  const { kvs } = await place.etcd.getAll().prefix(place.options.keyPrefix).exec();
  return kvs.map(({ key }) => key.toString().slice(place.options.keyPrefix.length));
};

describe('tripping', () => {
  it('three failures here and three there trip one breaker, once, and only that of the ability', async () => {
    const [one, two] = [await startHub(place), await startHub(place)];
    await one.call('failure', 3);
    await two.call('failure', 3);
    await Promise.all([reaches(one, 'bypass'), reaches(two, 'bypass')]);
    await Promise.all([one.hub.settled(), two.hub.settled()]);
    expect([...one.transitions, ...two.transitions]).toEqual([['closed', 'bypass']]);
    expect(one.hub.gate(KEY)).toMatchObject({ share: 0.05, mark: 'bypass' });
    expect(one.hub.gate(KEY).detail).toMatch(/^bypass since \d\d:\d\d:\d\d UTC: 6 of the last 6 calls failed$/);
    expect(one.hub.gate({ ...KEY, ability: 'translate' })).toEqual({
      share: 1,
      mark: null,
      detail: '',
      retryAfterMs: 0,
    });
    // Nor the ability of another version, on either side (R28).
    for (const { hub } of [one, two])
      expect(hub.gate({ ...KEY, agentVersion: '1.0.1' })).toMatchObject({ share: 1, mark: null });
    expect(one.hub.list()).toEqual([{ key: KEY, view: expect.objectContaining({ state: 'bypass', share: 0.05 }) }]);
    expect(place.options.logger.lines).toContainEqual({
      message: expect.stringContaining('circuit breaker'),
      details: expect.objectContaining({ agent: 'reader', version: '1.0.0', ability: 'ocr', to: 'bypass' }),
    });
  });

  it('failures of the same tick trip once, and what ends late moves nothing: it only counts towards the error rate', async () => {
    const one = await startHub(place);
    const late = await one.hub.enter(KEY, FIRST);
    await failTogether(one, 12);
    expect(one.state()).toBe('bypass');
    const { requests } = one.hub.view(KEY);
    one.hub.report(KEY, late, 'failure', 10);
    one.hub.report(KEY, late, 'ok', 10);
    await one.hub.settled();
    expect(one.transitions).toEqual([['closed', 'bypass']]);
    expect(one.hub.view(KEY)).toMatchObject({ state: 'bypass', requests: requests + 2, error_rate: 13 / 14 });
  });

  it('neutral outcomes and five failures in ten leave it closed', async () => {
    const one = await startHub(place);
    await one.call('failure', 5);
    await one.call('neutral', 50);
    await one.call('ok', 5);
    await one.call('failure', 4); // the first five fall out of the last ten one by one
    expect(one.state()).toBe('closed');
    expect(one.hub.view(KEY)).toMatchObject({ requests: 14 });
  });

  it('an error rate that lasts opens it, on the counts of all processes', async () => {
    // Longer than the news of the successes may take: until then the second one sees failures only.
    const settings = { sustainedMs: 2_000 };
    const [one, two] = [await startHub(place, { settings }), await startHub(place, { settings })];
    await one.call('ok', 60);
    await failTogether(two, 6);
    await failPast(two, 20);
    await eventually(() => two.hub.view(KEY).requests === 86 && one.hub.view(KEY).requests === 86);
    await new Promise((resolve) => setTimeout(resolve, 2 * settings.sustainedMs));
    expect(two.state()).toBe('bypass'); // 26 of 86 is not over a half
    await failPast(two, 40);
    const started = performance.now();
    await Promise.all([reaches(one, 'open'), reaches(two, 'open')]);
    expect(performance.now() - started).toBeGreaterThan(settings.sustainedMs - 100);
    expect(one.hub.gate(KEY).detail).toContain('66 of 126 calls failed');
  });

  it('successes of processes that saw no failure count', async () => {
    const [one, two] = [await startHub(place), await startHub(place)];
    await one.call('ok', 100);
    await two.call('failure', 5);
    await eventually(() => two.hub.view(KEY).requests === 105);
    expect(two.hub.view(KEY).error_rate).toBeCloseTo(5 / 105);
  });

  it('healthy traffic writes nothing', async () => {
    const one = await startHub(place);
    await one.call('ok', 200);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(await storedKeys()).toEqual([]);
    expect(await one.hub.enter(KEY, FIRST)).toBe(await one.hub.enter(KEY, FIRST));
  });

  it('latency opens it when a limit is set', async () => {
    const one = await startHub(place, { settings: { latencyMs: 5 } });
    await one.call('ok', 25); // 10 ms each
    await reaches(one, 'open');
    expect(one.hub.gate(KEY).detail).toContain('p95 is over 5 ms');
  });

  it('withdraws its counts when the failures are old', async () => {
    const one = await startHub(place, { settings: { windowMs: 3_000 } });
    await one.call('failure');
    await eventually(async () => (await storedKeys()).length === 1);
    await eventually(async () => (await storedKeys()).length === 0);
  });

  it('does nothing when switched off, but what an operator says', async () => {
    await failTogether(await startHub(place), 6);
    const one = await startHub(place, { settings: { enabled: false } });
    await one.call('failure', 50);
    expect(one.hub.view(KEY)).toMatchObject({ state: 'closed', share: 1 });
    expect(one.hub.list()).toEqual([]);
    await one.hub.override(KEY, { state: 'open', reason: 'broken', by: 'ops', expiresInMs: null });
    await refusal(one.hub.enter(KEY, FIRST));
  });
});

describe('bypass', () => {
  it('rolls for those that were routed before, lets retries pass, and closes after ten marked successes', async () => {
    let roll = 0;
    const one = await startHub(place, { random: () => roll });
    await failTogether(one, 6);
    roll = 0.5;
    const refused = await refusal(one.hub.enter(KEY, FIRST));
    expect(refused).toMatchObject({ code: 'circuit_open', options: { received: 'no', retryAfterMs: 200 } });
    expect(await one.hub.enter(KEY, { ...FIRST, retry: true })).toMatchObject({ mark: 'bypass' });
    expect(await one.hub.enter(KEY, { ...FIRST, mark: 'bypass' })).toMatchObject({ mark: 'bypass' });
    await refusal(one.hub.enter(KEY, { ...FIRST, mark: 'recovery' }));
    roll = 0.04;
    await one.call('ok', 10);
    expect(one.state()).toBe('closed');
    expect(one.hub.view(KEY)).toMatchObject({ requests: 0, error_rate: 0 }); // what was before counts no more
    await one.call('failure', 5);
    expect(one.state()).toBe('closed');
  });

  it('counts the successes of all processes', async () => {
    const [one, two] = [await startHub(place), await startHub(place)];
    await failTogether(one, 6);
    await reaches(two, 'bypass');
    await Promise.all([one.call('ok', 5), two.call('ok', 5)]);
    await Promise.all([reaches(one, 'closed'), reaches(two, 'closed')]);
  });
});

describe('probe', () => {
  it('one of fifty calls over two processes is the probe', async () => {
    const settings = { probeIntervalMs: 2_000 };
    const [one, two] = [await startHub(place, { settings }), await startHub(place, { settings })];
    await open(one);
    await reaches(two, 'open');
    const early = await refusal(one.hub.enter(KEY, FIRST));
    expect(early.options.retryAfterMs).toBeGreaterThan(0);
    await eventually(() => one.hub.gate(KEY).share === 1 && two.hub.gate(KEY).share === 1);
    const asked = Array.from({ length: 50 }, (_, n) => (n % 2 ? one : two).hub.enter(KEY, { ...FIRST, mark: 'probe' }));
    const answers = await Promise.allSettled(asked);
    const passed = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
    expect(passed).toEqual([{ mark: 'probe', phase: expect.any(String) }]);
    const codes = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason.code] : []));
    expect(codes).toEqual(Array(49).fill('circuit_open'));
    await Promise.all([reaches(one, 'half_open'), reaches(two, 'half_open')]);
    // The answer may come by another process than the one that asked.
    two.hub.report(KEY, passed[0]!, 'ok', 10);
    await Promise.all([reaches(one, 'recovering'), reaches(two, 'recovering')]);
    expect(one.hub.gate(KEY)).toMatchObject({ share: 0.1, mark: 'recovery' });
  });

  it('a cancelled probe leaves room for another at once; a failed one not; retries never are one', async () => {
    const one = await startHub(place);
    await open(one);
    await eventually(() => one.hub.gate(KEY).share === 1);
    await refusal(one.hub.enter(KEY, { ...FIRST, retry: true }));
    one.hub.report(KEY, await one.hub.enter(KEY, FIRST), 'neutral', 1);
    const next = await one.hub.enter(KEY, FIRST);
    expect(next.mark).toBe('probe');
    one.hub.report(KEY, next, 'failure', 1);
    expect(one.state()).toBe('open');
    await refusal(one.hub.enter(KEY, FIRST));
    expect(one.hub.gate(KEY).detail).toContain('the probe failed');
  });

  it('a probe lost with its process is taken over, and its late answer counts for nothing', async () => {
    const [one, two] = [await startHub(place), await startHub(place)];
    await open(one);
    await eventually(() => one.hub.gate(KEY).share === 1);
    const lost = await one.hub.enter(KEY, { ...FIRST, budgetMs: 2_000 });
    await one.hub.stop();
    await reaches(two, 'half_open');
    await refusal(two.hub.enter(KEY, FIRST));
    await eventually(() => two.hub.gate(KEY).share === 1);
    const taken = await two.hub.enter(KEY, FIRST);
    two.hub.report(KEY, lost, 'ok', 10);
    expect(two.state()).toBe('half_open');
    two.hub.report(KEY, taken, 'ok', 10);
    expect(two.state()).toBe('recovering');
  });

  it('recovers step by step until everything passes', async () => {
    const one = await startHub(place);
    await open(one);
    await eventually(() => one.hub.gate(KEY).share === 1);
    await one.call('ok');
    const shares: number[] = [];
    for (let step = 0; step < 3; step++) {
      shares.push(one.hub.gate(KEY).share);
      await one.call('ok', 5);
    }
    expect(shares).toEqual([0.1, 0.25, 0.5]);
    await one.hub.settled();
    expect(one.transitions.map(([, to]) => to)).toEqual(['bypass', 'open', 'half_open', 'recovering', 'closed']);
    expect(await storedKeys()).toContain('/default/breakers/state/reader/1.0.0/ocr');
  });

  it('a step ends by time after one success, whoever is there to see it', async () => {
    const [one, two] = [
      await startHub(place, { settings: { recoveryStepMs: 200 } }),
      await startHub(place, { settings: { recoveryStepMs: 200 } }),
    ];
    await open(one);
    await eventually(() => one.hub.gate(KEY).share === 1);
    await one.call('ok', 2);
    await one.hub.stop();
    await eventually(() => two.hub.gate(KEY).share === 0.25);
  });
});

describe('overrides', () => {
  const by = { by: 'ops', reason: 'maintenance' };

  it('hold a breaker open everywhere until they expire by themselves', async () => {
    const [one, two] = [await startHub(place), await startHub(place)];
    await one.hub.override(KEY, { ...by, state: 'open', expiresInMs: 5_000 });
    expect((await refusal(one.hub.enter(KEY, FIRST))).message).toContain('held open by ops');
    await reaches(two, 'open');
    await refusal(two.hub.enter(KEY, { ...FIRST, retry: true }));
    expect(two.hub.view(KEY)).toMatchObject({ state: 'open', share: 0, override: { ...by, state: 'open' } });
    await eventually(() => two.state() === 'closed' && one.state() === 'closed');
    expect(await one.hub.enter(KEY, FIRST)).toMatchObject({ mark: null });
  }, 60_000);

  it('hold a breaker closed whatever it thinks, until taken back', async () => {
    const [one, two] = [await startHub(place), await startHub(place)];
    await open(one);
    await two.hub.override(KEY, { ...by, state: 'closed', expiresInMs: null });
    await reaches(one, 'closed');
    const ticket = await one.hub.enter(KEY, FIRST);
    expect(ticket.mark).toBeNull();
    one.hub.report(KEY, ticket, 'ok', 1);
    expect(one.hub.view(KEY).override).toMatchObject({ expires_at: null, state: 'closed' });
    await one.hub.clearOverride(KEY);
    expect(one.state()).toBe('open');
    await reaches(two, 'open');
  });

  it('and states go with the agent', async () => {
    const [one, two] = [await startHub(place), await startHub(place)];
    await failTogether(one, 6);
    await one.hub.override({ ...KEY, ability: 'translate' }, { ...by, state: 'open', expiresInMs: null });
    await eventually(() => two.hub.list().length === 2);
    await two.hub.removeAgent('reader');
    await eventually(() => one.hub.list().length === 0);
    expect(one.hub.view(KEY)).toMatchObject({ state: 'closed', requests: 0 });
  });
});

describe('clocks and outages', () => {
  it('a wall clock that jumps an hour changes nothing, and monotonic clocks need not agree', async () => {
    let shiftMs = 0;
    const clock: Clock = { monotonicMs: () => performance.now(), wall: () => new Date(new Date().getTime() + shiftMs) };
    const later: Clock = { monotonicMs: () => performance.now() + 5_000_000, wall: () => new Date() };
    const settings = { probeIntervalMs: 2_000 };
    const one = await startHub(place, { clock, settings });
    const two = await startHub(place, { clock: later, settings });
    await one.call('failure', 3);
    shiftMs = 3_600_000;
    await two.call('failure', 3);
    await Promise.all([reaches(one, 'bypass'), reaches(two, 'bypass')]);
    shiftMs = -3_600_000;
    await open(one);
    expect(one.hub.gate(KEY).share).toBe(0);
    shiftMs = 3_600_000;
    expect(one.hub.gate(KEY).retryAfterMs).toBeLessThanOrEqual(settings.probeIntervalMs);
    await eventually(() => one.hub.gate(KEY).share === 1);
    await one.call('ok');
    await reaches(two, 'recovering');
  });

  it('trips and refuses while etcd is away, lets no probe out, and writes it all when etcd is back', async () => {
    const relay = await openRelay(sharedEtcdAddress());
    const away = openPlace(relay.address);
    const one = await startHub({ ...away, options: { ...away.options, keyPrefix: place.options.keyPrefix } });
    const two = await startHub(place);
    relay.cut();
    const started = performance.now();
    await open(one);
    await eventually(() => one.hub.gate(KEY).share === 1);
    const refused = await refusal(one.hub.enter(KEY, FIRST));
    expect(refused.code).toBe('circuit_open');
    expect(performance.now() - started).toBeLessThan(10_000);
    expect(two.state()).toBe('closed');
    relay.mend();
    await Promise.all([reaches(two, 'open'), one.hub.settled()]);
    const probe = await eventually(() => one.hub.enter(KEY, FIRST));
    expect(probe.mark).toBe('probe');
    await away.close();
    await relay.close();
  }, 60_000);

  it('what others wrote meanwhile wins', async () => {
    const relay = await openRelay(sharedEtcdAddress());
    const away = openPlace(relay.address);
    const one = await startHub({ ...away, options: { ...away.options, keyPrefix: place.options.keyPrefix } });
    const two = await startHub(place);
    relay.cut();
    await failTogether(one, 6);
    expect(one.state()).toBe('bypass');
    await open(two);
    relay.mend();
    await reaches(one, 'open');
    await one.hub.settled();
    expect(two.state()).toBe('open');
    await away.close();
    await relay.close();
  }, 60_000);

  it('a probe whose claim was answered too late is given back', async () => {
    const one = await startHub(place);
    await open(one);
    await eventually(() => one.hub.gate(KEY).share === 1);
    const real = place.etcd.kv.txn.bind(place.etcd.kv);
    const slow = jest.spyOn(place.etcd.kv, 'txn').mockImplementation(async (request) => {
      const answer = await real(request);
      await new Promise((resolve) => setTimeout(resolve, 1_300));
      return answer;
    });
    await refusal(one.hub.enter(KEY, FIRST));
    slow.mockRestore();
    await eventually(() => one.hub.gate(KEY).share === 1 && one.state() === 'open');
    expect((await one.hub.enter(KEY, FIRST)).mark).toBe('probe');
  });

  it('skips a record it cannot read and writes over it', async () => {
    await place.etcd.put(`${place.options.keyPrefix}/default/breakers/state/reader/1.0.0/ocr`).value('{"v":9}');
    const one = await startHub(place);
    expect(one.state()).toBe('closed');
    await failTogether(one, 6);
    await one.hub.settled();
    await place.etcd
      .put(`${place.options.keyPrefix}/default/breaker-windows/p1/reader/1.0.0/ocr`)
      .value('{"v":1,"recent":"x"}');
    const two = await startHub(place);
    expect(two.state()).toBe('bypass');
    expect(place.options.logger.lines.map(({ message }) => message)).toContain('skipped an unreadable record in etcd');
  });

  it('publishes again after its lease was lost', async () => {
    const [one, two] = [await startHub(place), await startHub(place)];
    await one.call('failure', 2);
    await eventually(() => two.hub.view(KEY).requests === 2);
    const windows = `${place.options.keyPrefix}/default/breaker-windows/`;
    const [kv] = (await place.etcd.getAll().prefix(windows).exec()).kvs;
    await place.etcd.leaseClient.leaseRevoke({ ID: kv!.lease });
    await eventually(() => two.hub.view(KEY).requests === 0);
    await one.call('failure');
    await eventually(() => two.hub.view(KEY).requests === 3);
  });

  it('three processes that do all at once let one probe out at a time and end up agreeing', async () => {
    const settings = { probeIntervalMs: 5, sustainedMs: 0, minRequests: 5, windowMs: 2_000 };
    const hubs = [
      await startHub(place, { settings, tickMs: 10, random: Math.random }),
      await startHub(place, { settings, tickMs: 10, random: Math.random }),
      await startHub(place, { settings, tickMs: 10, random: Math.random }),
    ];
    const probes: string[] = [];
    let out = 0;
    let mostOut = 0;
    const use = async ({ hub }: (typeof hubs)[number], failing: boolean) => {
      const ticket = await hub.enter(KEY, FIRST).catch(() => null);
      if (ticket === null) return;
      if (ticket.mark === 'probe') {
        probes.push(ticket.phase);
        mostOut = Math.max(mostOut, ++out);
      }
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 4));
      if (ticket.mark === 'probe') out--;
      hub.report(KEY, ticket, failing ? 'failure' : Math.random() < 0.1 ? 'neutral' : 'ok', 1);
    };
    for (let round = 0; round < 60; round++)
      await Promise.all(
        hubs.flatMap((hub) => Array.from({ length: 6 }, () => use(hub, Math.floor(round / 10) % 2 === 0))),
      );
    expect(probes.length).toBeGreaterThan(2);
    expect(new Set(probes).size).toBe(probes.length);
    expect(mostOut).toBe(1);
    await Promise.all(hubs.map(({ hub }) => hub.settled()));
    await eventually(() => new Set(hubs.map(({ hub }) => hub.view(KEY).since)).size === 1);
    await eventually(async () => {
      await Promise.all(hubs.map((hub) => use(hub, false)));
      return hubs.every((hub) => hub.state() === 'closed');
    }, 15_000);
  }, 30_000);
});

import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Act } from '../harness/act';
import { http } from '../harness/http';
import type { Load } from '../harness/load';
import type { Scenario } from '../harness/scenario';
import { eventually } from '../harness/waiting';
import { breakerGoesRound, callbacksArrive, clocksAreOff, lateResultsAreTaken } from './clock-checks';
import { isReady, leaseInstance } from './leased-instance';

/** libfaketime for programs of several threads, as Debian installs it; null where it is not. */
function fakeTime(): string | null {
  const base = '/usr/lib';
  const folders = existsSync(base) ? readdirSync(base) : [];
  const files = folders.map((folder) => join(base, folder, 'faketime', 'libfaketimeMT.so.1'));
  return files.find((file) => existsSync(file)) ?? null;
}

/** The wall clock moved; elapsed time stays as it is. */
function shifted(by: string): Record<string, string> {
  const library = fakeTime();
  return library === null
    ? {}
    : { LD_PRELOAD: library, FAKETIME: by, FAKETIME_DONT_FAKE_MONOTONIC: '1', FAKETIME_DONT_RESET: '1' };
}

/** A lease that a clock of ten minutes would end at once, or never. */
const TTL_SEC = 6;

/**
 * One gateway's clock is ten minutes fast, the other's ten minutes slow, the worker's ten minutes fast and then right; the engines' are right.
 * Budgets, retries, leases, breakers, tokens and callbacks go on as if nothing were.
 */
export const wrongClocks: Scenario = {
  row: 14,
  name: 'clocks ten minutes off',
  floor: 0.97,
  stage: {
    gateways: 2,
    workers: 1,
    // Fast enough to go round within the row.
    config: {
      breaker: {
        window_sec: 20,
        min_requests: 10,
        sustained_sec: 2,
        bypass_share: 0.4,
        bypass_successes: 3,
        probe_interval_sec: 0.5,
        recovery_steps: [0.5],
        recovery_successes: 2,
        recovery_step_sec: 2,
      },
    },
    env: { gateway: shifted('+10m'), worker: shifted('+10m') },
  },
  missing: async () => (fakeTime() ? null : 'libfaketime is not installed (Debian: apt-get install libfaketime)'),
  async run(act) {
    await act.stage.gateways[1]!.restartWith(shifted('-10m'));
    await clocksAreOff(act, { gateways: [10, -10], worker: 10 });
    const leased = await act.agent('leased', { address: null });
    const lease = await leaseInstance(act, leased, TTL_SEC);
    const abilities = [await act.agent('plain'), await act.agent('idempotent', { idempotent: true }), leased];
    act.expect(await readyEverywhere(act, leased), 'a leased instance is not seen as ready at both gateways');
    const load = act.load({
      messages: act.scaled(100),
      overMs: 10_000,
      abilities,
      semantics: ['at_least_once', 'exactly_once'],
      failures: { share: 0.1, steps: ['error', 'busy'] },
      timeoutMs: 20_000,
    });
    const late = await lateResultsAreTaken(act, 'ahead');
    await callbacksArrive(act);
    await breakerGoesRound(act);
    // Tokens end too early for a gateway that is ahead of the worker that made them.
    await act.stage.workers[0]!.restartWith(shifted('+0'));
    await clocksAreOff(act, { gateways: [10, -10], worker: 0 });
    const later = await lateResultsAreTaken(act, 'right');
    await act.recovered();
    await load.done;
    act.expect(lease.reregistrations === 0, `the lease was lost ${lease.reregistrations} times while it was kept`);
    act.expect(await readyEverywhere(act, leased), 'the instance whose lease is kept is no longer ready');
    lease.stop();
    const { journal } = await act.settle(load, late, later);
    const surplus = journal.filter(({ attempt }) => attempt > 3).length;
    act.expect(surplus === 0, `${surplus} attempts beyond the third: a budget or a delay went wrong`);
    answeredAtOnce(act, load);
    await expires(act, leased);
  },
};

/** Nothing is broken but the clocks: nobody has to come again. */
function answeredAtOnce(act: Act, { sent }: Load): void {
  const turned = sent.flatMap(({ setbacks, refusal }) => [...setbacks, ...(refusal ? [refusal.code] : [])]);
  act.expect(
    turned.length === 0,
    `callers were turned away by nothing but a clock: ${[...new Set(turned)].join(', ')}`,
  );
}

function readyEverywhere(act: Act, agent: string): Promise<boolean> {
  const everywhere = async () =>
    (await Promise.all(act.stage.urls.map((url) => isReady(url, agent)))).every((ready) => ready);
  return eventually(everywhere, { limitMs: 5_000 });
}

/** A lease that is kept no longer ends after its time, at both gateways: not ten minutes later. */
async function expires(act: Act, agent: string): Promise<void> {
  act.say('a lease that nobody keeps any more');
  const isGone = async () => !(await Promise.all(act.stage.urls.map((url) => isReady(url, agent)))).includes(true);
  const gone = await eventually(isGone, { limitMs: TTL_SEC * 1_000 + 10_000, everyMs: 300 });
  const known = await http('GET', `${act.stage.urls[0]}/v1/agents/${agent}`);
  act.expect(gone && known?.status === 200, 'an instance that is silent is still routed to long after its lease');
}

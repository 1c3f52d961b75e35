import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Scenario } from '../harness/scenario';

/** libfaketime as Debian installs it; null where it is not. */
function fakeTime(): string | null {
  const base = '/usr/lib';
  const folders = existsSync(base) ? readdirSync(base) : [];
  const files = folders.map((folder) => join(base, folder, 'faketime', 'libfaketime.so.1'));
  return files.find((file) => existsSync(file)) ?? null;
}

/** The wall clock moved; elapsed time stays as it is. */
function shifted(by: string): Record<string, string> {
  const library = fakeTime();
  return library === null
    ? {}
    : { LD_PRELOAD: library, FAKETIME: by, DONT_FAKE_MONOTONIC: '1', FAKETIME_DONT_RESET: '1' };
}

/** The gateway's clock is ten minutes slow and the worker's ten minutes fast; the engines' are right. */
export const wrongClocks: Scenario = {
  row: 14,
  name: 'clocks ten minutes off',
  floor: 0.97,
  stage: {
    workers: 1,
    config: { breaker: { enabled: false } },
    env: { gateway: shifted('-10m'), worker: shifted('+10m') },
  },
  missing: async () => (fakeTime() ? null : 'libfaketime is not installed (Debian: apt-get install libfaketime)'),
  async run(act) {
    const abilities = [await act.agent('plain'), await act.agent('idempotent', { idempotent: true })];
    const load = act.load({
      messages: act.scaled(80),
      overMs: 6_000,
      abilities,
      semantics: ['at_least_once', 'exactly_once'],
      failures: { share: 0.2, steps: ['error', 'busy'] },
      timeoutMs: 20_000,
    });
    await act.recovered();
    const { journal } = await act.settle(load);
    const first = journal.filter(({ attempt }) => attempt > 3).length;
    act.expect(first === 0, `${first} attempts beyond the third: a budget or a delay went wrong`);
  },
};

import type { BreakerSettings } from '../../src/policy/breaker';
import type { BreakerKey, BreakerOutcome, BreakerState, BreakerTicket } from '../../src/protocol/reliability';
import { BreakerHub, type BreakerHubOptions } from '../../src/registry/breakers/breaker-hub';
import { eventually, type Place } from './support';

/** Quick enough for tests: what takes seconds in production takes a tenth of one. */
export const SETTINGS: BreakerSettings = {
  enabled: true,
  windowMs: 120_000,
  tripFailures: 6,
  tripWindow: 10,
  errorRate: 0.5,
  minRequests: 20,
  sustainedMs: 300,
  latencyMs: null,
  bypassShare: 0.05,
  bypassSuccesses: 10,
  probeIntervalMs: 200,
  recoverySteps: [0.1, 0.25, 0.5],
  recoverySuccesses: 5,
  recoveryStepMs: 60_000,
};

export const KEY: BreakerKey = { agentName: 'reader', agentVersion: '1.0.0', ability: 'ocr' };
export const FIRST = { mark: null, retry: false, budgetMs: 60_000 } as const;

/** A hub of a process of its own, and what it said. */
export interface TestHub {
  hub: BreakerHub;
  transitions: [from: BreakerState, to: BreakerState][];
  /** Enters and reports. */
  call(outcome: BreakerOutcome, times?: number): Promise<void>;
  state(): BreakerState;
}

export async function startHub(
  place: Place,
  {
    settings = {},
    ...options
  }: Partial<Omit<BreakerHubOptions, 'settings'>> & { settings?: Partial<BreakerSettings> } = {},
): Promise<TestHub> {
  const transitions: TestHub['transitions'] = [];
  const hub = new BreakerHub({
    ...place.options,
    tickMs: 50,
    random: () => 0,
    onTransition: (_key, from, to) => void transitions.push([from, to]),
    ...options,
    settings: { ...SETTINGS, ...settings },
  });
  place.onClose(() => hub.stop());
  await hub.start();
  const call = async (outcome: BreakerOutcome, times = 1) => {
    for (let n = 0; n < times; n++) hub.report(KEY, await hub.enter(KEY, FIRST), outcome, 10);
  };
  return { hub, transitions, call, state: () => hub.view(KEY).state };
}

/** Failures reported together by calls that were under way together. */
export async function failTogether({ hub }: TestHub, times: number): Promise<void> {
  const tickets: BreakerTicket[] = await Promise.all(Array.from({ length: times }, () => hub.enter(KEY, FIRST)));
  for (const ticket of tickets) hub.report(KEY, ticket, 'failure', 10);
}

/** Failures of calls that passed a bypass: they count to the error rate. */
export async function failPast({ hub }: TestHub, times: number): Promise<void> {
  const tickets = await Promise.all(Array.from({ length: times }, () => hub.enter(KEY, { ...FIRST, retry: true })));
  for (const ticket of tickets) hub.report(KEY, ticket, 'failure', 10);
}

/** Opens the breaker by an error rate that lasts. */
export async function open(one: TestHub): Promise<void> {
  await failTogether(one, 6);
  await failPast(one, 20);
  await reaches(one, 'open');
}

/** Waits for a state. */
export function reaches(one: TestHub, state: BreakerState): Promise<unknown> {
  return eventually(() => one.state() === state);
}

import fc from 'fast-check';
import type { AdmissionMark, BreakerOutcome } from '../../protocol/reliability';
import {
  admissionOf,
  afterEvidence,
  afterOutcome,
  afterTime,
  claimProbe,
  NEVER_TRIPPED,
  type BreakerRecord,
  type BreakerRules,
  type BreakerSettings,
  type Evidence,
} from './index';

const settings: BreakerSettings = {
  enabled: true,
  windowMs: 120_000,
  tripFailures: 6,
  tripWindow: 10,
  errorRate: 0.5,
  minRequests: 20,
  sustainedMs: 10_000,
  latencyMs: null,
  bypassShare: 0.05,
  bypassSuccesses: 10,
  probeIntervalMs: 5_000,
  recoverySteps: [0.1, 0.25, 0.5],
  recoverySuccesses: 5,
  recoveryStepMs: 10_000,
};
const PROBE_LIMIT_MS = 3_000;
const TRIP: Evidence = { to: 'bypass', reason: '6 of the last 10 calls failed' };
const OPEN: Evidence = { to: 'open', reason: '14 of 20 calls failed' };

interface Ticket {
  phase: string;
  mark: AdmissionMark | null;
}

/** A breaker with a clock of its own. */
class Bench {
  record = NEVER_TRIPPED;
  nowMs = 0;
  private seenMs = 0;
  private phases = 0;
  private readonly rules: BreakerRules = {
    settings,
    stamp: () => ({ phase: String(++this.phases), since: `t${this.nowMs}` }),
  };

  get elapsedMs(): number {
    return this.nowMs - this.seenMs;
  }

  prove(evidence: Evidence, phase = this.record.phase): this {
    return this.show(afterEvidence(this.record, phase, evidence, this.rules));
  }

  /** Lets a call pass if the breaker does; `roll` is its luck. */
  enter(roll = 0): Ticket | null {
    const { share, mark } = admissionOf(this.record, { phaseMs: this.elapsedMs, markedMs: 0 }, settings);
    if (mark !== 'probe') return roll < share || share === 1 ? { phase: this.record.phase, mark } : null;
    const claimed = claimProbe(this.record, { elapsedMs: this.elapsedMs, limitMs: PROBE_LIMIT_MS }, this.rules);
    if (claimed !== null) this.show(claimed);
    return claimed && { phase: claimed.phase, mark };
  }

  end(ticket: Ticket | null, outcome: BreakerOutcome): this {
    return ticket === null ? this : this.show(afterOutcome(this.record, { ...ticket, outcome }, this.rules));
  }

  call(outcome: BreakerOutcome, times = 1): this {
    for (let n = 0; n < times; n++) this.end(this.enter(), outcome);
    return this;
  }

  wait(ms: number): this {
    this.nowMs += ms;
    return this.show(afterTime(this.record, this.elapsedMs, this.rules));
  }

  get share(): number {
    return admissionOf(this.record, { phaseMs: this.elapsedMs, markedMs: 0 }, settings).share;
  }

  private show(record: BreakerRecord): this {
    if (record.phase !== this.record.phase) this.seenMs = this.nowMs;
    this.record = record;
    return this;
  }
}

const opened = () => new Bench().prove(OPEN);

it('goes through all states and back', () => {
  const bench = new Bench().prove(TRIP);
  expect(bench.record).toMatchObject({ state: 'bypass', reason: TRIP.reason });
  expect(bench.share).toBe(0.05);
  expect(bench.prove(OPEN).record.state).toBe('open');
  expect(bench.share).toBe(0);
  expect(bench.wait(4_999).enter()).toBeNull();
  const probe = bench.wait(1).enter();
  expect(probe).toMatchObject({ mark: 'probe' });
  expect(bench.record).toMatchObject({ state: 'half_open', reason: OPEN.reason });
  expect(bench.enter()).toBeNull();
  expect(bench.end(probe, 'ok').record).toMatchObject({ state: 'recovering', step: 0 });
  const shares = settings.recoverySteps.map(() => {
    const { share } = bench;
    bench.call('ok', 5);
    return share;
  });
  expect(shares).toEqual([0.1, 0.25, 0.5]);
  expect(bench.record).toMatchObject({ state: 'closed', epoch: bench.record.phase });
});

it('trips once for failures that land together', () => {
  const bench = new Bench();
  const { phase } = bench.record;
  for (let n = 0; n < 6; n++) bench.prove(TRIP, phase);
  expect(bench.record.phase).toBe('1');
});

it('closes the bypass after ten marked successes with no failure between', () => {
  const bench = new Bench().prove(TRIP).call('ok', 9).call('failure').call('neutral', 50).call('ok', 9);
  expect(bench.record).toMatchObject({ state: 'bypass', successes: 9 });
  expect(bench.end({ phase: bench.record.phase, mark: null }, 'ok').record.successes).toBe(9);
  expect(bench.call('ok').record.state).toBe('closed');
});

it('opens again with a full interval after a failed probe, and with none after one that told nothing', () => {
  const bench = opened().wait(5_000).call('failure');
  expect(bench.record).toMatchObject({ state: 'open', reason: 'the probe failed' });
  expect(bench.wait(4_999).enter()).toBeNull();
  bench.wait(1).call('neutral');
  expect(bench.record).toMatchObject({ state: 'open', reason: 'the probe failed' });
  expect(bench.enter()).not.toBeNull();
});

it('gives the probe to another when it was lost, and the lost one changes nothing any more', () => {
  const bench = opened().wait(5_000);
  const lost = bench.enter();
  expect(bench.wait(PROBE_LIMIT_MS - 1).enter()).toBeNull();
  const taken = bench.wait(1).enter();
  expect(taken).not.toBeNull();
  expect(bench.end(lost, 'ok').record.state).toBe('half_open');
  expect(bench.end(taken, 'ok').record.state).toBe('recovering');
});

it('ignores outcomes and evidence of an earlier phase', () => {
  const bench = new Bench();
  const early = bench.enter();
  bench.prove(TRIP);
  const { record } = bench;
  expect(bench.prove(OPEN, '').end(early, 'ok').end(early, 'failure').record).toBe(record);
});

it('ends a step after its time only where something succeeded and nothing failed', () => {
  const recovering = () => opened().wait(5_000).call('ok');
  expect(recovering().wait(60_000).record.step).toBe(0);
  expect(recovering().call('ok').wait(9_999).record.step).toBe(0);
  expect(recovering().call('ok').wait(10_000).record.step).toBe(1);
  expect(recovering().call('failure').call('ok').wait(60_000).record).toMatchObject({ step: 0, failures: 1 });
  expect(recovering().call('failure').call('ok', 5).record).toMatchObject({ step: 1, failures: 0 });
  expect(recovering().call('failure', 2).record.state).toBe('open');
});

describe('whatever happens', () => {
  type Step = (bench: Bench, tickets: Ticket[]) => void;
  const outcome = fc.constantFrom<BreakerOutcome>('ok', 'failure', 'neutral');
  const steps = fc.oneof(
    fc.double({ min: 0, max: 0.999, noNaN: true }).map((roll): Step => (bench, tickets) => {
      const ticket = bench.enter(roll);
      if (ticket !== null) tickets.push(ticket);
    }),
    fc.tuple(fc.nat(), outcome, fc.boolean()).map(([n, ended, keep]): Step => (bench, tickets) => {
      const ticket = tickets[n % Math.max(1, tickets.length)];
      if (ticket === undefined) return;
      bench.end(ticket, ended);
      if (!keep) tickets.splice(tickets.indexOf(ticket), 1); // kept: reported twice
    }),
    fc.nat({ max: 20_000 }).map(
      (ms): Step =>
        (bench) =>
          void bench.wait(ms),
    ),
    fc.constantFrom(TRIP, OPEN).map(
      (evidence): Step =>
        (bench) =>
          void bench.prove(evidence),
    ),
  );

  it('shares stay within 0 and 1, one probe at most is out, and good traffic closes it again', () => {
    const property = fc.property(fc.array(steps, { maxLength: 120 }), (sequence) => {
      const bench = new Bench();
      const tickets: Ticket[] = [];
      const probes = new Set<string>();
      for (const step of sequence) {
        const before = tickets.length;
        const { state } = bench.record;
        const waitedMs = bench.elapsedMs;
        step(bench, tickets);
        expect(bench.share).toBeGreaterThanOrEqual(0);
        expect(bench.share).toBeLessThanOrEqual(1);
        const taken = tickets.length > before ? tickets.at(-1) : undefined;
        if (taken?.mark !== 'probe') continue;
        expect(probes.has(taken.phase)).toBe(false);
        probes.add(taken.phase);
        // Another one may be out only when it is taken for lost.
        if (state === 'half_open') expect(waitedMs).toBeGreaterThanOrEqual(PROBE_LIMIT_MS);
      }
      for (let n = 0; n < 60 && bench.record.state !== 'closed'; n++) bench.call('ok').wait(1_000);
      expect(bench.record.state).toBe('closed');
    });
    fc.assert(property, { numRuns: 500 });
  });
});

test('a share of little traffic lets one call pass as often as a probe would', () => {
  const bypass: BreakerRecord = { ...NEVER_TRIPPED, state: 'bypass', phase: 'p' };
  const recovering: BreakerRecord = { ...bypass, state: 'recovering' };
  const just = { phaseMs: 60_000, markedMs: settings.probeIntervalMs - 1 };
  const due = { phaseMs: 60_000, markedMs: settings.probeIntervalMs };
  expect(admissionOf(bypass, just, settings)).toMatchObject({ share: settings.bypassShare, mark: 'bypass' });
  expect(admissionOf(bypass, due, settings)).toMatchObject({ share: 1, mark: 'bypass' });
  expect(admissionOf(recovering, just, settings).share).toBe(settings.recoverySteps[0]);
  expect(admissionOf(recovering, due, settings)).toMatchObject({ share: 1, mark: 'recovery' });
});

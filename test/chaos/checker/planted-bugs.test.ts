import fc from 'fast-check';
import type { Rule } from './facts';
import { BUGS, FakePlatform, type Bug, type Fate, type Message } from './fake-platform';
import { describeViolation, reconcile } from './reconcile';

/** Which rules see which bug; one of them is enough. */
const SEEN_BY: Record<Bug, Rule[]> = {
  acknowledge_before_work: ['acknowledged_before_work', 'result_never_produced'],
  start_twice: ['two_reaches_of_one_key'],
  drop_the_fence: ['stale_result'],
  count_a_retry_twice: ['attempt_counted_twice'],
  never_count_a_lost_attempt: ['attempt_not_recorded'],
  leak_a_permit: ['permits_exceeded'],
  lose_a_receipt: ['receipt_lost'],
  two_terminal_statuses: ['status_differs'],
  send_at_most_once_twice: ['sent_again'],
  redrive_starts_two_runs: ['too_many_runs'],
  probe_herd: ['probe_herd'],
  forget_the_retry_limit: ['retries_exceeded'],
  change_the_key: ['key_changed'],
  lose_a_dead_letter: ['dead_letter_missing'],
  lose_an_expired_reach: ['dead_letter_missing'],
  lose_an_unknown_outcome: ['dead_letter_missing'],
  get_stays_running: ['channel_silent'],
  stream_never_ends: ['channel_silent'],
  list_forgets_one: ['channel_silent'],
  swap_payloads: ['payload_changed'],
  retry_beyond_the_limit: ['too_many_attempts'],
  deny_a_repeat: ['replayed_untrue'],
  call_the_first_a_repeat: ['replayed_untrue'],
  hide_a_stand_in: ['degraded_unmarked'],
};

const message: fc.Arbitrary<Message> = fc.record({
  // Crowded, so that limits matter, and with some in the period in which the breaker is open.
  atMs: fc.oneof(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 1_900, max: 2_400 })),
  semantics: fc.constantFrom('at_least_once', 'at_least_once', 'at_most_once'),
  fates: fc.array(
    fc.constantFrom<Fate>('ok', 'error', 'error', 'error', 'error', 'lost', 'reject', 'hang', 'stand_in'),
    {
      maxLength: 5,
    },
  ),
  workMs: fc.integer({ min: 20, max: 400 }),
  redrive: fc.boolean(),
  repeated: fc.boolean(),
});
const workload = fc.array(message, { minLength: 1, maxLength: 90, size: 'max' });

describe('the reconciliation', () => {
  it('finds nothing where every promise was kept', () => {
    fc.assert(
      fc.property(workload, (messages) => {
        expect(reconcile(new FakePlatform().deliver(messages)).map(describeViolation)).toEqual([]);
      }),
    );
  });

  it.each(BUGS)('sees the planted bug wherever it bites: %s', (bug) => {
    let bites = 0;
    fc.assert(
      fc.property(workload, (messages) => {
        const platform = new FakePlatform(bug);
        const rules = reconcile(platform.deliver(messages)).map(({ rule }) => rule);
        if (!platform.bitten) return expect(rules).toEqual([]);
        bites += 1;
        expect(SEEN_BY[bug].some((rule) => rules.includes(rule))).toBe(true);
      }),
      // A fixed seed: how often a bug gets its chance must not be a matter of luck.
      { numRuns: 60, seed: 20_240_601 },
    );
    // A bug that never had a chance proves nothing.
    expect(bites).toBeGreaterThanOrEqual(3);
  });

  it('names the reach and the evidence', () => {
    const message = { atMs: 0, semantics: 'at_most_once', workMs: 10, redrive: false, repeated: false } as const;
    const recording = new FakePlatform('send_at_most_once_twice').deliver([{ ...message, fates: ['error'] }]);
    expect(reconcile(recording).map(describeViolation)).toContain(
      'sent_again r-0: at_most_once, and agents saw it 2 times',
    );
  });
});

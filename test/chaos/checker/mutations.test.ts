import type { Channel, Recording, Rule } from './facts';
import { FakePlatform, type Message } from './fake-platform';
import { reconcile } from './reconcile';

const message = (atMs: number, more: Partial<Message> = {}): Message => ({
  atMs,
  semantics: 'at_least_once',
  fates: [],
  workMs: 50,
  redrive: false,
  repeated: false,
  ...more,
});

/**
 * r-0 completes at once, and is sent twice; r-1 after two lost answers, r-2 is rejected and redriven, r-3 is rejected for good,
 * r-4 runs out of time, r-5 may have been done, r-6 is answered by the fallback.
 */
const good = (): Recording =>
  structuredClone(
    new FakePlatform().deliver([
      message(0, { repeated: true }),
      message(10, { fates: ['lost', 'error'] }),
      message(20, { fates: ['reject'], redrive: true }),
      message(30, { fates: ['reject'] }),
      message(40, { fates: ['hang'] }),
      message(50, { fates: ['lost'], semantics: 'at_most_once' }),
      message(60, { fates: ['stand_in'] }),
    ]),
  );

const runOf = (recording: Recording, reachId: string) =>
  recording.runs.filter(({ reach_id }) => reach_id === reachId).at(-1)!;
const seenBy = (recording: Recording, reachId: string, wanted: Channel) =>
  recording.sightings.find(({ reach_id, channel }) => reach_id === reachId && channel === wanted)!;
const without = <T>(items: T[], unwanted: T): T[] => items.filter((item) => item !== unwanted);
const entryOf = (recording: Recording, reachId: string, attempt: number) =>
  recording.journal.find((entry) => entry.reach_id === reachId && entry.attempt === attempt)!;

it('the recording that the mutations start from is good', () => {
  expect(reconcile(good())).toEqual([]);
});

it.each<[what: string, Rule, (recording: Recording) => void]>([
  ['a run that never ends', 'not_ended', (r) => (runOf(r, 'r-0').status = 'running')],
  ['a channel that tells another end', 'status_differs', (r) => (r.sightings[0]!.status = 'cancelled')],
  [
    'a caller that was told an end no run had',
    'status_differs',
    (r) =>
      r.sightings.push({
        ...{ reach_id: 'r-2', channel: 'post', status: 'expired', output_id: null, degraded: null, settled: false },
      }),
  ],
  ['a channel that shows another result', 'result_differs', (r) => (r.sightings[0]!.output_id = 'other')],
  ...(['get', 'list', 'events'] as const).map((channel): [string, Rule, (recording: Recording) => void] => [
    `a channel that shows no end: ${channel}`,
    'channel_silent',
    (r) => (r.sightings = without(r.sightings, seenBy(r, 'r-1', channel))),
  ]),
  [
    'a caller that polled, and then nobody asked again',
    'channel_silent',
    (r) => (seenBy(r, 'r-0', 'get').settled = false),
  ],
  ['a fallback that is not marked', 'degraded_unmarked', (r) => (seenBy(r, 'r-6', 'get').degraded = false)],
  ['an answer that is marked as a fallback', 'degraded_unmarked', (r) => (seenBy(r, 'r-0', 'events').degraded = true)],
  ...(['r-3', 'r-4', 'r-5'] as const).map((id): [string, Rule, (recording: Recording) => void] => [
    `a dead letter that is in no list: ${id}`,
    'dead_letter_missing',
    (r) => (r.dead_letters = r.dead_letters.filter(({ reach_id }) => reach_id !== id)),
  ]),
  [
    'an open dead letter that completed',
    'dead_letter_of_a_success',
    (r) => r.dead_letters.push({ reach_id: 'r-0', state: 'open' }),
  ],
  ['a key with two reaches', 'two_reaches_of_one_key', (r) => (r.receipts[0]!.key = 'key-1')],
  ['a run that nobody asked for', 'too_many_runs', (r) => (r.redrives_asked = {})],
  ['two results', 'two_results', (r) => (r.runs.find(({ reach_id }) => reach_id === 'r-2')!.status = 'completed')],
  ['a run of another envelope', 'fingerprint_changed', (r) => (runOf(r, 'r-2').fingerprint = 'other')],
  ['an agent that was given the payload of another', 'payload_changed', (r) => (entryOf(r, 'r-1', 2).tag = 'other')],
  ['a run that was started with the payload of another', 'payload_changed', (r) => (runOf(r, 'r-2').tag = 'other')],
  [
    'an agent with another payload than the history, where no caller is known',
    'payload_changed',
    (r) => {
      r.receipts = r.receipts.filter(({ reach_id }) => reach_id !== 'r-1');
      entryOf(r, 'r-1', 1).tag = 'other';
    },
  ],
  ['a repeat that is told to be the first', 'replayed_untrue', (r) => (r.receipts[1]!.replayed = false)],
  ['a first one that is told to be a repeat', 'replayed_untrue', (r) => (r.receipts[0]!.replayed = true)],
  ['an attempt under another key', 'key_changed', (r) => (entryOf(r, 'r-1', 2).key = 'other')],
  ['an attempt that is not recorded', 'attempt_not_recorded', (r) => runOf(r, 'r-1').attempts!.shift()],
  ['an attempt of no run', 'attempt_not_recorded', (r) => (entryOf(r, 'r-0', 1).fence = '9'.repeat(19))],
  [
    'an attempt that is recorded twice',
    'attempt_counted_twice',
    (r) => runOf(r, 'r-1').attempts!.push({ ...runOf(r, 'r-1').attempts![1]! }),
  ],
  ['more attempts than are allowed', 'too_many_attempts', (r) => (runOf(r, 'r-1').attempts_allowed = 2)],
  [
    'more attempts than are allowed, of which the history knows nothing',
    'too_many_attempts',
    (r) => Object.assign(runOf(r, 'r-1'), { attempts_allowed: 2, attempts: null }),
  ],
  [
    'an attempt that no agent saw',
    'attempt_never_seen',
    (r) => runOf(r, 'r-0').attempts!.unshift({ n: 0, agent: 'agent', received: 'yes', code: 'agent_error' }),
  ],
  ['work that is denied', 'attempt_denied', (r) => (runOf(r, 'r-1').attempts![0]!.received = 'no')],
  ['one attempt seen twice', 'sent_again', (r) => r.journal.push({ ...entryOf(r, 'r-1', 2) })],
  [
    'a queue that gives out again what was answered',
    'sent_again',
    (r) => {
      const seen = entryOf(r, 'r-1', 2);
      seen.queued = true;
      r.journal.push({ ...seen, arrived_ms: seen.arrived_ms + 1 });
    },
  ],
  [
    'a queue that gives out again what is sent at most once',
    'sent_again',
    (r) => {
      const seen = entryOf(r, 'r-0', 1);
      Object.assign(seen, { queued: true, left_ms: null });
      runOf(r, 'r-0').semantics = 'at_most_once';
      r.journal.push({ ...seen, arrived_ms: seen.arrived_ms + 1 });
    },
  ],
  ['a result without work', 'acknowledged_before_work', (r) => (entryOf(r, 'r-0', 1).worked = false)],
  ['a result that nobody produced', 'result_never_produced', (r) => (runOf(r, 'r-1').output_id = 'other')],
  [
    'the result of an overtaken attempt',
    'stale_result',
    (r) => (runOf(r, 'r-1').output_id = entryOf(r, 'r-1', 1).output_id),
  ],
  [
    'a later attempt with a smaller fence',
    'fence_order',
    (r) => {
      const [first, second] = [entryOf(r, 'r-1', 1), entryOf(r, 'r-1', 2)];
      [first.fence, second.fence] = [second.fence, first.fence];
    },
  ],
])('sees %s', (_what, rule, mutate) => {
  const recording = good();
  mutate(recording);
  expect(reconcile(recording).map((violation) => violation.rule)).toContain(rule);
});

it('counts a lost attempt that no agent could write down as recorded, not as false', () => {
  const recording = good();
  runOf(recording, 'r-1').attempts![0]!.received = 'unknown';
  recording.journal = recording.journal.filter((entry) => entry !== entryOf(recording, 'r-1', 1));
  expect(reconcile(recording)).toEqual([]);
});

it('lets the fast path of an idempotent ability repeat an attempt under the same number', () => {
  const recording = good();
  runOf(recording, 'r-0').idempotent = true;
  const first = entryOf(recording, 'r-0', 1);
  recording.journal.unshift({ ...first, worked: false, output_id: null, left_ms: null });
  expect(reconcile(recording)).toEqual([]);
});

it('a queue may give out again what its agent was killed with', () => {
  const recording = good();
  const seen = entryOf(recording, 'r-1', 3);
  recording.journal.push({ ...seen, queued: true, left_ms: null, arrived_ms: seen.arrived_ms - 1 });
  expect(reconcile(recording)).toEqual([]);
});

it('a caller without an answer to an earlier try may be told that it comes again', () => {
  const recording = good();
  recording.receipts[0]!.replayed = true;
  recording.doubtful_keys.push('key-0');
  expect(reconcile(recording)).toEqual([]);
});

it('what has no run, or no end, is not called silent as well', () => {
  const recording = good();
  runOf(recording, 'r-0').status = 'running';
  recording.sightings = recording.sightings.filter(({ reach_id }) => reach_id !== 'r-0');
  expect(reconcile(recording).map(({ rule }) => rule)).toEqual(['not_ended']);
});

it('attempts of lost workers that no agent saw do not count towards the limit', () => {
  const recording = good();
  const run = runOf(recording, 'r-5');
  run.attempts!.push({ n: 2, agent: 'agent', received: 'unknown', code: 'worker_lost' });
  expect(reconcile(recording)).toEqual([]);
  run.attempts!.at(-1)!.received = 'no';
  expect(reconcile(recording).map(({ rule }) => rule)).toEqual(['too_many_attempts']);
});

it('a stream that was not read is not missed', () => {
  const recording = good();
  recording.sightings = recording.sightings.filter(({ channel }) => channel !== 'events');
  recording.streamed = [];
  expect(reconcile(recording)).toEqual([]);
});

it('a journal that says nothing of payloads, and a payload that is kept outside of the history, are not judged', () => {
  const recording = good();
  entryOf(recording, 'r-1', 1).tag = null;
  runOf(recording, 'r-1').tag = null;
  expect(reconcile(recording)).toEqual([]);
});

it("the fixed answer of a fallback is nobody's work", () => {
  const recording = good();
  Object.assign(runOf(recording, 'r-6'), { output_id: null, attempts: [] });
  recording.journal = recording.journal.filter(({ reach_id }) => reach_id !== 'r-6');
  for (const seen of recording.sightings.filter(({ reach_id }) => reach_id === 'r-6')) seen.output_id = null;
  expect(reconcile(recording)).toEqual([]);
});

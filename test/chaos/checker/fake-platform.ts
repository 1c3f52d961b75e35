/**
 * A platform in miniature that delivers messages to one agent in simulated time and writes down the four sets. It keeps
 * every promise, but for the one that a bug is planted in: so the checks can be shown to see each bug, and nothing else.
 */
import type { DeadLetter, JournalEntry, Receipt, Recording, Run, Sighting } from './facts';
import { MAX_RETRIES_AT_ONCE } from './facts';

/** The bugs that can be planted. */
export const BUGS = [
  'acknowledge_before_work',
  'start_twice',
  'drop_the_fence',
  'count_a_retry_twice',
  'never_count_a_lost_attempt',
  'leak_a_permit',
  'lose_a_receipt',
  'two_terminal_statuses',
  'send_at_most_once_twice',
  'redrive_starts_two_runs',
  'probe_herd',
  'forget_the_retry_limit',
  'change_the_key',
  'lose_a_dead_letter',
  'lose_an_expired_reach',
  'lose_an_unknown_outcome',
  'get_stays_running',
  'stream_never_ends',
  'list_forgets_one',
  'swap_payloads',
  'retry_beyond_the_limit',
  'deny_a_repeat',
  'call_the_first_a_repeat',
  'hide_a_stand_in',
] as const;
export type Bug = (typeof BUGS)[number];

/**
 * How the agent answers one attempt; `lost`: it does the work, and the answer gets lost on its way; `hang`: not at all, until
 * the time of the message is over; `stand_in`: it is unavailable, and the fallback of the ability does the work.
 */
export type Fate = 'ok' | 'error' | 'reject' | 'lost' | 'hang' | 'stand_in';

/** A message of the workload. */
export interface Message {
  /** When it is sent, ms. */
  atMs: number;
  semantics: 'at_least_once' | 'at_most_once';
  /** Of the attempts, in order; after the last one the agent answers `ok`. */
  fates: Fate[];
  /** What one attempt takes, ms. */
  workMs: number;
  redrive: boolean;
  /** Sent twice under its key. */
  repeated: boolean;
}

/** What the platform of this simulation allows its agent. */
export const PERMITS = 12;
const MAX_ATTEMPTS = 4;
const AGENT = 'agent';
/** The breaker is open in this period; nobody but a probe passes. */
export const OPEN_PERIOD = { from_ms: 2_000, to_ms: 3_000 };

interface Task {
  message: Message;
  run: Run;
  readyMs: number;
}

/** Delivers all messages. `bitten` tells whether the planted bug changed anything. */
export class FakePlatform {
  bitten = false;
  private readonly runs: Run[] = [];
  private readonly journal: JournalEntry[] = [];
  private inFlight: JournalEntry[] = [];
  private readonly tasks: Task[] = [];
  private readonly receipts: Receipt[] = [];
  private readonly asked: Record<string, number> = {};
  private serial = 0;

  constructor(private readonly bug: Bug | null = null) {}

  /** @returns what was recorded, as it would be read from the real platform */
  deliver(messages: readonly Message[]): Recording {
    messages.forEach((message, index) => this.start(message, index, message.atMs));
    while (this.tasks.length > 0) this.attempt(this.nextTask());
    return this.recording();
  }

  private start(message: Message, index: number, atMs: number): void {
    const [id, key] = [`r-${index}`, `key-${index}`];
    this.begin(message, id, key, atMs);
    this.receipts.push(receipt(id, key, this.bites('call_the_first_a_repeat', index % 3 === 0)));
    const twice = this.bites('start_twice', index % 3 === 0);
    if (twice) this.begin(message, `${id}-again`, key, atMs);
    if (!message.repeated && !twice) return;
    this.receipts.push(receipt(twice ? `${id}-again` : id, key, !this.bites('deny_a_repeat')));
  }

  private begin(message: Message, reach_id: string, key: string, atMs: number): void {
    const run: Run = {
      reach_id,
      run_id: `run-${(this.serial += 1)}`,
      key,
      fingerprint: key,
      tag: tagOf(key),
      semantics: message.semantics,
      idempotent: false,
      status: 'running',
      code: null,
      attempts_allowed: message.semantics === 'at_most_once' ? 1 : MAX_ATTEMPTS,
      attempts: [],
      fence_bases: [String(atMs * 1_000 + this.serial).padStart(13, '0')],
      output_id: null,
      degraded: false,
    };
    this.runs.push(run);
    this.tasks.push({ message, run, readyMs: atMs });
  }

  private nextTask(): Task {
    const next = this.tasks.reduce((best, task, index, all) => (task.readyMs < all[best]!.readyMs ? index : best), 0);
    return this.tasks.splice(next, 1)[0]!;
  }

  private attempt(task: Task): void {
    const { message, run, readyMs } = task;
    const n = run.attempts!.length + 1;
    const waitUntilMs = this.admittedAt(readyMs, n > 1);
    if (waitUntilMs > readyMs) return void this.tasks.push({ ...task, readyMs: waitUntilMs });
    const planned = message.fates[n - 1] ?? 'ok';
    // What may be sent only once may have reached the first agent, so no other one stands in.
    const fate = planned === 'stand_in' && message.semantics === 'at_most_once' ? 'error' : planned;
    const endMs = readyMs + message.workMs;
    const entry = this.send(run, { n, fate, atMs: readyMs, endMs });
    if (fate !== 'ok') return this.failed(task, { n, fate, endMs });
    run.attempts!.push({ n, agent: AGENT, received: 'yes', code: null });
    this.complete(run, entry);
  }

  /** The fallback's agent has limits of its own, which it is far from. */
  private standIn({ message, run }: Task, { n, endMs }: { n: number; endMs: number }): void {
    const times = { atMs: endMs, endMs: endMs + message.workMs };
    const entry = this.send(run, { n, fate: 'ok', agent: 'stand-in', ...times });
    run.attempts!.push({ n, agent: entry.agent, received: 'yes', code: null });
    run.degraded = true;
    this.complete(run, entry);
  }

  /** When an attempt may begin: at once, or when a permit, a retry slot or the breaker may be asked again. */
  private admittedAt(atMs: number, isRetry: boolean): number {
    // Time only goes forward, so what has left never comes back.
    this.inFlight = this.inFlight.filter(({ left_ms }) => (left_ms ?? 0) > atMs);
    const { inFlight } = this;
    const soonest = Math.min(...inFlight.map(({ left_ms }) => left_ms ?? atMs));
    const retries = inFlight.filter(({ attempt }) => attempt > 1);
    const inPeriod = ({ arrived_ms: at }: JournalEntry) => at >= OPEN_PERIOD.from_ms && at < OPEN_PERIOD.to_ms;
    const isOpen = atMs >= OPEN_PERIOD.from_ms && atMs < OPEN_PERIOD.to_ms;
    const reasons: { untilMs: number; bug: Bug | null }[] = [];
    if (isOpen && this.journal.some(inPeriod)) {
      reasons.push({ untilMs: OPEN_PERIOD.to_ms, bug: inFlight.some(inPeriod) ? 'probe_herd' : null });
    }
    if (inFlight.length >= PERMITS) reasons.push({ untilMs: soonest, bug: 'leak_a_permit' });
    if (isRetry && retries.length >= MAX_RETRIES_AT_ONCE) {
      reasons.push({ untilMs: soonest, bug: 'forget_the_retry_limit' });
    }
    const [first] = reasons;
    // Only what nothing else holds back shows the bug.
    return !first || (reasons.length === 1 && first.bug && this.bites(first.bug)) ? atMs : first.untilMs;
  }

  private send(
    run: Run,
    { n, fate, atMs, endMs, agent = AGENT }: { n: number; fate: Fate; atMs: number; endMs: number; agent?: string },
  ) {
    const worked = fate === 'ok' || fate === 'lost';
    const other = this.runs.find(({ key }) => key !== run.key);
    const isSwapped = other !== undefined && this.bites('swap_payloads', n > 1);
    const entry: JournalEntry = {
      agent,
      reach_id: run.reach_id,
      key: this.bites('change_the_key', n > 1) ? `${run.key}-${n}` : run.key,
      tag: tagOf(isSwapped ? other.key : run.key),
      attempt: n,
      fence: run.fence_bases[0]! + String(n).padStart(6, '0'),
      bypass: false,
      arrived_ms: atMs,
      left_ms: endMs,
      answer: fate,
      worked: worked && !this.bites('acknowledge_before_work', n === 1 && fate === 'ok'),
      output_id: worked ? `work-${(this.serial += 1)}` : null,
    };
    this.journal.push(entry);
    if (agent === AGENT) this.inFlight.push(entry);
    return entry;
  }

  private failed(task: Task, { n, fate, endMs }: { n: number; fate: Exclude<Fate, 'ok'>; endMs: number }): void {
    const { message, run } = task;
    const code = CODES[fate];
    const received = fate === 'lost' || fate === 'hang' ? 'unknown' : 'yes';
    const number = this.bites('never_count_a_lost_attempt', fate === 'lost') ? n + 100 : n;
    run.attempts!.push({ n: number, agent: AGENT, received, code });
    if (this.bites('count_a_retry_twice', n > 1)) run.attempts!.push({ n, agent: AGENT, received, code });
    if (fate === 'stand_in') return this.standIn(task, { n: n + 1, endMs });
    const isFinal = fate === 'reject' || fate === 'hang';
    const once = message.semantics === 'at_most_once' && !this.bites('send_at_most_once_twice', !isFinal);
    const mayGoOn = !isFinal && !once && (n < MAX_ATTEMPTS || this.bites('retry_beyond_the_limit', n === MAX_ATTEMPTS));
    if (mayGoOn) return void this.tasks.push({ ...task, readyMs: endMs + 100 });
    run.code = code;
    run.status = fate === 'hang' ? 'expired' : once && fate === 'lost' ? 'outcome_unknown' : 'dead_lettered';
    if (message.redrive && run.status === 'dead_lettered') this.redrive(message, run, endMs);
  }

  private redrive(message: Message, { reach_id, key }: Run, endMs: number): void {
    if (this.asked[reach_id]) return;
    this.asked[reach_id] = 1;
    const mended = { ...message, fates: [] };
    this.begin(mended, reach_id, key, endMs + 500);
    if (this.bites('redrive_starts_two_runs')) this.begin(mended, reach_id, key, endMs + 500);
  }

  private complete(run: Run, entry: JournalEntry): void {
    const overtaken = this.journal.find((other) => other.reach_id === run.reach_id && other.worked && other !== entry);
    const isStale = overtaken !== undefined && this.bites('drop_the_fence');
    run.status = 'completed';
    run.output_id = isStale ? overtaken.output_id : entry.output_id;
  }

  /** True where the planted bug shows: `when` it can. */
  private bites(bug: Bug, when = true): boolean {
    if (this.bug !== bug || !when) return false;
    this.bitten = true;
    return true;
  }

  private recording(): Recording {
    const runs = this.runs.filter(({ reach_id }) => !this.bites('lose_a_receipt', reach_id === 'r-0'));
    const told = [...new Map(runs.map((run) => [run.reach_id, run])).values()];
    return {
      receipts: this.receipts,
      doubtful_keys: [],
      sightings: told.flatMap((run) => this.seen(run)),
      streamed: told.map(({ reach_id }) => reach_id),
      runs,
      journal: this.journal,
      dead_letters: told.flatMap((run) => this.letter(run)),
      redrives_asked: this.asked,
      limits: [{ agent: AGENT, permits: PERMITS, retries: MAX_RETRIES_AT_ONCE, open_periods: [OPEN_PERIOD] }],
    };
  }

  /** What each channel says of a reach in the end. A channel that shows no end is not in the recording. */
  private seen({ reach_id, status, output_id, degraded }: Run): Sighting[] {
    const result = { reach_id, output_id, settled: true };
    const shown = status === 'completed' ? degraded && !this.bites('hide_a_stand_in', degraded) : null;
    const told = this.bites('two_terminal_statuses', status === 'dead_lettered') ? 'expired' : status;
    const all: Sighting[] = [
      { ...result, channel: 'get', status, degraded: shown },
      { ...result, channel: 'list', status: told, output_id: null, degraded: null },
      { ...result, channel: 'events', status, degraded: shown },
    ];
    const isChosen = reach_id === 'r-0';
    const silent = [
      this.bites('get_stays_running', isChosen) && 'get',
      this.bites('list_forgets_one', isChosen) && 'list',
      this.bites('stream_never_ends', isChosen) && 'events',
    ];
    return all.filter(({ channel }) => !silent.includes(channel));
  }

  private letter({ reach_id, status }: Run): DeadLetter[] {
    const bug = LETTER_BUGS[status];
    if (!bug || this.bites(bug)) return [];
    return [{ reach_id, state: status === 'outcome_unknown' ? 'discarded' : 'open' }];
  }
}

/** Ends that make a dead letter, each with the bug that loses it. */
const LETTER_BUGS: Partial<Record<Run['status'], Bug>> = {
  dead_lettered: 'lose_a_dead_letter',
  expired: 'lose_an_expired_reach',
  outcome_unknown: 'lose_an_unknown_outcome',
};

/** How a fate that is no answer is recorded. */
const CODES: Record<Exclude<Fate, 'ok'>, string> = {
  error: 'agent_error',
  reject: 'agent_rejected',
  lost: 'worker_lost',
  hang: 'deadline_exceeded',
  stand_in: 'agent_unavailable',
};

function receipt(reach_id: string, key: string, replayed: boolean): Receipt {
  return { reach_id, key, tag: tagOf(key), status: 202, reach_status: 'accepted', replayed };
}

const tagOf = (key: string) => `payload of ${key}`;

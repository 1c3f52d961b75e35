/**
 * A platform in miniature that delivers messages to one agent in simulated time and writes down the four sets. It keeps
 * every promise, but for the one that a bug is planted in: so the checks can be shown to see each bug, and nothing else.
 */
import type { JournalEntry, Recording, Run } from './facts';
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
] as const;
export type Bug = (typeof BUGS)[number];

/** How the agent answers one attempt; `lost`: it does the work, and the answer gets lost on its way. */
export type Fate = 'ok' | 'error' | 'reject' | 'lost';

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
}

/** What the platform of this simulation allows its agent. */
export const PERMITS = 12;
const MAX_ATTEMPTS = 4;
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
    this.begin(message, `r-${index}`, `key-${index}`, atMs);
    if (this.bites('start_twice', index % 3 === 0)) this.begin(message, `r-${index}-again`, `key-${index}`, atMs);
  }

  private begin(message: Message, reach_id: string, key: string, atMs: number): void {
    const run: Run = {
      reach_id,
      run_id: `run-${(this.serial += 1)}`,
      key,
      fingerprint: key,
      semantics: message.semantics,
      idempotent: false,
      status: 'running',
      code: null,
      attempts: [],
      fence_bases: [String(atMs * 1_000 + this.serial).padStart(13, '0')],
      output_id: null,
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
    const fate = message.fates[n - 1] ?? 'ok';
    const endMs = readyMs + message.workMs;
    const entry = this.send(run, { n, fate, atMs: readyMs, endMs });
    if (fate !== 'ok') return this.failed(task, { n, fate, endMs });
    run.attempts!.push({ n, received: 'yes', code: null });
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

  private send(run: Run, { n, fate, atMs, endMs }: { n: number; fate: Fate; atMs: number; endMs: number }) {
    const worked = fate === 'ok' || fate === 'lost';
    const entry: JournalEntry = {
      agent: 'agent',
      reach_id: run.reach_id,
      key: this.bites('change_the_key', n > 1) ? `${run.key}-${n}` : run.key,
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
    this.inFlight.push(entry);
    return entry;
  }

  private failed(task: Task, { n, fate, endMs }: { n: number; fate: Fate; endMs: number }): void {
    const { message, run } = task;
    const code = fate === 'lost' ? 'worker_lost' : fate === 'reject' ? 'agent_rejected' : 'agent_error';
    const received = fate === 'lost' ? 'unknown' : 'yes';
    if (this.bites('never_count_a_lost_attempt', fate === 'lost')) run.attempts!.push({ n: n + 100, received, code });
    else run.attempts!.push({ n, received, code });
    if (this.bites('count_a_retry_twice', n > 1)) run.attempts!.push({ n, received, code });
    const once = message.semantics === 'at_most_once' && !this.bites('send_at_most_once_twice', fate !== 'reject');
    const mayGoOn = fate !== 'reject' && !once && n < MAX_ATTEMPTS;
    if (mayGoOn) return void this.tasks.push({ ...task, readyMs: endMs + 100 });
    run.code = code;
    run.status = once && fate === 'lost' ? 'outcome_unknown' : 'dead_lettered';
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
    const last = new Map(runs.map((run) => [run.reach_id, run]));
    const told = [...last.values()];
    const dead = told.filter(({ status }) => status === 'dead_lettered');
    return {
      receipts: this.runs.map(({ reach_id, key }) => ({
        reach_id,
        key,
        status: 202,
        reach_status: 'accepted',
        replayed: false,
      })),
      sightings: told.flatMap(({ reach_id, status, output_id }) => [
        { reach_id, channel: 'get', status, output_id, settled: true },
        { reach_id, channel: 'list', status: this.told(status), output_id: null, settled: true },
      ]),
      runs,
      journal: this.journal,
      dead_letters: dead
        .filter((_, index) => !this.bites('lose_a_dead_letter', index === 0))
        .map(({ reach_id }) => ({ reach_id, state: 'open' })),
      redrives_asked: this.asked,
      limits: [{ agent: 'agent', permits: PERMITS, retries: MAX_RETRIES_AT_ONCE, open_periods: [OPEN_PERIOD] }],
    };
  }

  private told(status: Run['status']): Run['status'] {
    return this.bites('two_terminal_statuses', status === 'dead_lettered') ? 'expired' : status;
  }
}

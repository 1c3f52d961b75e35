import fc from 'fast-check';
import { onBegin, onComplete, type DeduplicationRecord } from '../../../src/registry/deduplication/rules';
import { describeKeyViolation, judgeKeys, recordedMs, type KeyRule, type KeyStory } from './exactly-once';

/** How one attempt goes: when it asks, how long its handler takes, and whether its process dies on the way. */
interface Trial {
  askMs: number;
  workMs: number;
  dies: 'never' | 'before_work' | 'after_work' | 'before_answer';
  /** The store is away when it asks. */
  away: boolean;
}

/**
 * The bugs that can be planted into the store in miniature, the rules that see each (one is enough), and the share of bites that must be
 * seen: a bite need not break a promise, where nobody else asked for the key.
 */
const BUGS: Record<string, { rules: KeyRule[]; least: number }> = {
  compares_fences_the_wrong_way: {
    rules: ['claim_order', 'claim_denied', 'stale_record', 'effect_after_record'],
    least: 0.9,
  },
  lets_everybody_claim: { rules: ['claim_order', 'stale_record'], least: 0.9 },
  records_over_a_result: { rules: ['record_changed'], least: 1 },
  records_whatever_is_claimed: { rules: ['stale_record'], least: 0.9 },
  forgets_the_record: { rules: ['ran_after_record'], least: 0.9 },
  records_before_the_work: { rules: ['recorded_before_work'], least: 1 },
  answers_without_recording: { rules: ['result_unfounded'], least: 1 },
  repeats_the_fence: { rules: ['claim_order'], least: 0.9 },
  runs_without_its_store: { rules: ['ran_unasked'], least: 1 },
};
type Bug = string;

/** One key of one agent, in simulated time: the store keeps the product's own rules, but for the bug. */
class FakeKey {
  bitten = false;
  private record: DeduplicationRecord | null = null;
  private ledger = '';
  private readonly steps: { atMs: number; run: () => void }[] = [];
  private nowMs = 0;
  private readonly story = {
    key: 'k',
    begins: [] as KeyStory['begins'][number][],
    completes: [] as KeyStory['completes'][number][],
    runs: [] as KeyStory['runs'][number][],
    effects: [] as KeyStory['effects'][number][],
    told: [] as KeyStory['told'][number][],
  };

  constructor(
    private readonly semantics: KeyStory['semantics'],
    private readonly bug: Bug | null = null,
  ) {}

  live(trials: readonly Trial[]): KeyStory {
    // Not in the order of their fences: an attempt of a reach that began earlier may come later.
    trials.forEach((trial, index) => this.at(trial.askMs, () => this.begin(trial, index + 1)));
    for (let step = this.steps.shift(); step; step = this.steps.shift()) {
      this.nowMs = step.atMs;
      step.run();
    }
    return { ...this.story, semantics: this.semantics };
  }

  private at(atMs: number, run: () => void): void {
    this.steps.push({ atMs, run });
    this.steps.sort((a, b) => a.atMs - b.atMs);
  }

  private has(bug: Bug, bites: boolean): boolean {
    if (this.bug !== bug || !bites) return false;
    this.bitten = true;
    return true;
  }

  private begin(trial: Trial, attempt: number): void {
    const fence = this.fenceOf(attempt);
    const asked = { id: `b${attempt}`, fence: this.exactly ? fence : null, asked_ms: this.nowMs };
    const told_ms = this.nowMs + 1;
    if (trial.away) {
      this.story.begins.push({ ...asked, told_ms, answer: 'failed', output: null });
      const goesOn = !this.exactly && attempt === 1;
      if (goesOn || this.has('runs_without_its_store', this.exactly || attempt > 1))
        this.handle(trial, { attempt, fence, begin: null });
      return;
    }
    const { status, output } = this.claim(fence);
    const begin = { ...asked, told_ms, answer: status, output };
    this.story.begins.push(begin);
    if (output !== null) this.tell(attempt, output);
    if (status === 'free') this.handle(trial, { attempt, fence, begin });
  }

  private fenceOf(attempt: number): string {
    const earlier = this.story.runs.find(({ begin }) => begin !== null && begin.told_ms! < this.nowMs);
    const isFree = this.exactly && this.record?.output === null && this.record.fence === earlier?.fence;
    if (earlier && this.has('repeats_the_fence', isFree)) return earlier.fence;
    return `${attempt}`.padStart(19, '0');
  }

  private get exactly(): boolean {
    return this.semantics === 'exactly_once';
  }

  private claim(fence: string): { status: 'free' | 'done' | 'superseded'; output: string | null } {
    const known = this.record?.output ?? null;
    if (known !== null && !this.has('forgets_the_record', true))
      return { status: 'done', output: known.text as string };
    if (!this.exactly || known !== null) return { status: 'free', output: null };
    const { answer, write } = onBegin(this.record, fence);
    const other = this.record !== null && this.record.fence !== fence;
    if (this.has('compares_fences_the_wrong_way', other))
      return answer.status === 'superseded' ? this.take(fence) : { status: 'superseded', output: null };
    if (this.has('lets_everybody_claim', answer.status === 'superseded')) return this.take(fence);
    if (write) this.record = write;
    return { status: answer.status, output: null };
  }

  private take(fence: string): { status: 'free'; output: null } {
    this.record = { fence, output: null };
    return { status: 'free', output: null };
  }

  private handle(trial: Trial, run: Pick<KeyStory['runs'][number], 'attempt' | 'fence' | 'begin'>): void {
    const ran = { ...run, reach_id: 'r', started_ms: this.nowMs + 2, output: null as string | null };
    this.story.runs.push(ran);
    const output = `result of ${run.attempt}`;
    if (this.has('records_before_the_work', trial.dies === 'before_work')) this.complete(run, output);
    if (trial.dies === 'before_work') return;
    this.at(this.nowMs + 2 + trial.workMs, () => {
      if (this.exactly && this.ledger > run.fence) return;
      this.ledger = run.fence;
      this.story.effects.push({ fence: run.fence, taken_ms: this.nowMs });
      ran.output = output;
      if (trial.dies === 'after_work') return;
      if (this.has('answers_without_recording', this.exactly)) return this.tell(run.attempt, output);
      const result = this.complete(run, output);
      if (result !== null && trial.dies !== 'before_answer') this.tell(run.attempt, result);
    });
  }

  private complete({ fence }: { fence: string }, offered: string): string | null {
    const { answer, write } = this.judge(fence, offered);
    if (write) this.record = write;
    const text = answer.status === 'recorded' ? offered : ((answer.output?.text as string | undefined) ?? null);
    const times = { asked_ms: this.nowMs, told_ms: this.nowMs + 1 };
    this.story.completes.push({ ...times, fence, offered, answer: answer.status, output: text });
    return text;
  }

  private judge(fence: string, text: string): ReturnType<typeof onComplete> {
    const mine = { fence, output: { text } };
    const found = this.record;
    if (this.has('records_over_a_result', (found?.output ?? null) !== null)) return onComplete(null, mine);
    const isOvertaken = found !== null && found.output === null && found.fence > fence;
    return onComplete(this.has('records_whatever_is_claimed', isOvertaken) ? null : found, mine);
  }

  private tell(attempt: number, output: string): void {
    this.story.told.push({ reach_id: 'r', where: `attempt ${attempt}`, output });
  }
}

const trial: fc.Arbitrary<Trial> = fc.record({
  askMs: fc.integer({ min: 0, max: 40 }).map((n) => n * 10),
  workMs: fc.integer({ min: 1, max: 200 }),
  dies: fc.constantFrom('never', 'never', 'never', 'before_work', 'after_work', 'before_answer'),
  away: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
});
const trials = fc.array(trial, { minLength: 1, maxLength: 8 });
const promised = fc.constantFrom<KeyStory['semantics'][]>('exactly_once', 'at_least_once');

describe('the account of a business key', () => {
  it('finds nothing where every promise was kept', () => {
    fc.assert(
      fc.property(trials, promised, (attempts, semantics) => {
        const story = new FakeKey(semantics).live(attempts);
        expect(judgeKeys([story]).map(describeKeyViolation)).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });

  it.each(Object.keys(BUGS))('sees the planted bug: %s', (bug) => {
    const { rules: expected, least } = BUGS[bug]!;
    let bites = 0;
    let seen = 0;
    fc.assert(
      fc.property(trials, promised, (attempts, semantics) => {
        const key = new FakeKey(semantics, bug);
        const rules = judgeKeys([key.live(attempts)]).map(({ rule }) => rule);
        if (!key.bitten) return expect(rules).toEqual([]);
        bites += 1;
        if (rules.some((rule) => expected.includes(rule))) seen += 1;
      }),
      // A fixed seed: how often a bug gets its chance must not be a matter of luck.
      { numRuns: 200, seed: 20_240_601 },
    );
    expect(bites).toBeGreaterThanOrEqual(10);
    expect(seen / bites).toBeGreaterThanOrEqual(least);
  });
});

const begin = { id: 'b', fence: '2', asked_ms: 10, told_ms: 11, answer: 'free', output: null } as const;
const complete = { fence: '2', offered: 'x', asked_ms: 20, told_ms: 21, answer: 'recorded', output: 'x' } as const;
const run = { reach_id: 'r', attempt: 2, fence: '2', started_ms: 12, begin, output: 'x' };
const good: KeyStory = {
  key: 'k',
  semantics: 'exactly_once',
  begins: [begin],
  completes: [complete],
  runs: [run],
  effects: [{ fence: '2', taken_ms: 15 }],
  told: [{ reach_id: 'r', where: 'GET', output: 'x' }],
};
const rulesOf = (more: Partial<KeyStory>) => judgeKeys([{ ...good, ...more }]).map(({ rule }) => rule);

describe('what the docs allow', () => {
  it('the story that these start from is good, and recorded when somebody knew', () => {
    expect(rulesOf({})).toEqual([]);
    expect(recordedMs(good)).toBe(21);
    expect(recordedMs({ begins: [begin], completes: [] })).toBe(Number.POSITIVE_INFINITY);
  });

  it('an older attempt may still be at work when the newer one records; its effect may not come through', () => {
    const older = { ...run, attempt: 1, fence: '1', begin: { ...begin, fence: '1', asked_ms: 1, told_ms: 2 } };
    const runs = [{ ...older, started_ms: 3, output: null }, run];
    expect(rulesOf({ runs })).toEqual([]);
    expect(rulesOf({ runs, effects: [{ fence: '1', taken_ms: 30 }] })).toEqual(['effect_after_record']);
    expect(rulesOf({ runs, effects: [{ fence: '1', taken_ms: 30 }], semantics: 'at_least_once' })).toEqual([]);
  });

  it('a handler that began before the record, and started after it, asked in time', () => {
    expect(rulesOf({ runs: [run, { ...run, started_ms: 30 }] })).toEqual([]);
    const late = { ...begin, asked_ms: 22, told_ms: 23 };
    expect(rulesOf({ runs: [run, { ...run, begin: late, started_ms: 30 }] })).toEqual(['ran_after_record']);
  });

  it('at_least_once may have two results where a run went without the store, and only there', () => {
    const told = [...good.told, { reach_id: 'q', where: 'GET', output: 'y' }];
    const other = { ...run, reach_id: 'q', attempt: 1, output: 'y' };
    const two = { semantics: 'at_least_once', told } as const;
    expect(rulesOf({ ...two, runs: [run, { ...other, begin: null }] })).toEqual([]);
    expect(rulesOf({ ...two, runs: [run, other] })).toEqual(['results_differ']);
    const lost = { ...complete, offered: 'y', answer: 'failed', output: null } as const;
    expect(rulesOf({ ...two, runs: [run, other], completes: [complete, lost] })).toEqual([]);
    expect(rulesOf({ ...two, runs: [run, { ...other, attempt: 2, begin: null }] })).toEqual(['ran_unasked']);
  });

  it('two reaches that began in the same millisecond have one fence; two attempts of one reach do not', () => {
    const later = { ...run, begin: { ...begin, asked_ms: 12, told_ms: 13 }, output: null };
    expect(rulesOf({ runs: [run, { ...later, reach_id: 'q' }] })).toEqual([]);
    expect(rulesOf({ runs: [run, { ...later, attempt: 3 }] })).toEqual(['claim_order']);
  });

  it('a violation names the key and the evidence', () => {
    const [violation] = judgeKeys([{ ...good, told: [{ reach_id: 'r', where: 'GET', output: 'z' }] }]);
    expect(describeKeyViolation(violation!)).toBe('result_unfounded k: no handler made z');
  });
});

import { Act } from './act';
import { Random } from './random';
import type { RowReport, Scenario } from './scenario';
import { openStage, type Stage } from './stage';

/** How a scenario is run. */
export interface RunOptions {
  seed: number;
  scale: number;
  reaches: number;
  signal: AbortSignal;
  say: (text: string) => void;
  /** A stage to use instead of one of its own; it is left open. */
  stage?: Stage;
}

/** Runs one row once. Never throws for what the platform did: that is the report; throws when it was interrupted. */
export async function runScenario(scenario: Scenario, options: RunOptions): Promise<RowReport> {
  const startedMs = performance.now();
  const missing = (await scenario.missing?.()) ?? null;
  if (missing) return { ...blank(scenario, options.seed), verdict: 'skipped', notes: [missing] };
  options.say('starting engines, gateways, workers and agents');
  const stage = options.stage ?? (await openStage(scenario.stage).catch((error: Error) => error));
  if (stage instanceof Error) {
    options.signal.throwIfAborted();
    return {
      ...blank(scenario, options.seed),
      verdict: 'failed',
      problems: [`nothing could be tried: ${stage.message}`],
    };
  }
  try {
    const before = new Set(defectsOf(stage));
    const act = new Act(stage, new Random(options.seed * 1_000 + scenario.row), { row: scenario.row, ...options });
    const crashed = await play(scenario, act, options.signal);
    for (const defect of defectsOf(stage)) if (!before.has(defect)) act.defects.add(`logged: ${defect}`);
    return {
      ...judge(scenario, act, crashed),
      seed: options.seed,
      duration_ms: Math.round(performance.now() - startedMs),
    };
  } finally {
    options.say('stopping');
    if (!options.stage) await stage.close();
  }
}

async function play(scenario: Scenario, act: Act, signal: AbortSignal): Promise<string[]> {
  try {
    await act.agent('probe', { idempotent: true });
    await scenario.run(act);
    return [];
  } catch (error) {
    signal.throwIfAborted();
    return [`the scenario broke off: ${(error as Error).message}`];
  }
}

/** What gateways and workers have logged as defects so far; a stage may have been used before. */
function defectsOf({ gateways, workers }: Stage): string[] {
  return [...gateways, ...workers].flatMap(({ defects }) => defects);
}

/** What is judged of a scenario that was played. */
type Played = Pick<
  Act,
  'problems' | 'notes' | 'defects' | 'violations' | 'messages' | 'succeeded' | 'otherwise' | 'recoveryMs' | 'evidence'
>;

/** The report about a scenario: whatever is wrong in it makes it fail. */
export function judge(scenario: Scenario, act: Played, crashed: readonly string[]): RowReport {
  const defects = [...act.defects].map((defect) => `a defect of the platform: ${defect}`);
  const excuse = scenario.toleratesDefects;
  const problems = [...act.problems, ...crashed, ...(excuse === undefined ? defects : [])];
  const share = act.messages > 0 ? act.succeeded / act.messages : 0;
  if (share < scenario.floor) {
    const others = [...act.otherwise].map(([end, count]) => `${count}× ${end}`).join(', ') || 'nothing was sent';
    problems.push(
      `only ${act.succeeded} of ${act.messages} completed, the floor is ${percent(scenario.floor)}: ${others}`,
    );
  }
  return {
    ...blank(scenario, 0),
    verdict: problems.length + act.violations.length === 0 ? 'passed' : 'failed',
    sent: act.messages,
    succeeded: act.succeeded,
    violations: act.violations,
    problems,
    recovery_ms: act.recoveryMs,
    evidence: act.evidence,
    notes: [...act.notes, ...(excuse === undefined ? [] : defects.map((defect) => `${defect} (tolerated: ${excuse})`))],
  };
}

/** A report about nothing yet. */
export function blank({ row, name, floor }: Pick<Scenario, 'row' | 'name' | 'floor'>, seed: number): RowReport {
  return {
    row,
    name,
    seed,
    verdict: 'not_applicable',
    sent: 0,
    succeeded: 0,
    floor,
    violations: [],
    problems: [],
    recovery_ms: null,
    evidence: null,
    notes: [],
    duration_ms: 0,
  };
}

/** 0.95 as `95 %`. */
export function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

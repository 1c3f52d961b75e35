/**
 * Runs the fault matrix against a platform of its own: `npm run chaos`. See docs/chaos.md.
 * Exit codes: 0 every row that ran has passed (`--planted`: every bug was caught), 1 one failed, 2 usage, 130 interrupted.
 */
import { writeFile } from 'node:fs/promises';
import { progressOn, type Progress } from './harness/progress';
import { reportOf } from './harness/report';
import { blank, runScenario } from './harness/run-scenario';
import type { RowReport, Scenario } from './harness/scenario';
import { inParallel } from './harness/waiting';
import { readOptions, UsageError, type ChaosOptions } from './options';
import { bugsOf, plantedTable, runPlanted } from './planted/run-planted';
import { NOT_APPLICABLE, SCENARIOS } from './rows';

interface Run {
  scenario: Scenario;
  seed: number;
}

async function runAll(options: ChaosOptions, signal: AbortSignal): Promise<RowReport[]> {
  const { rows, seeds, jobs } = options;
  const wanted = SCENARIOS.filter(({ row }) => rows.includes(row));
  const runs = wanted.flatMap((scenario) => seeds.map((seed): Run => ({ scenario, seed })));
  const reports: RowReport[] = NOT_APPLICABLE.filter(({ row }) => rows.includes(row)).map((each) =>
    blank({ ...each, floor: 0 }, 0),
  );
  const progress = progressOn(process.stderr, runs.length);
  const one = async (run: Run) => void reports.push(await runOne(run, { options, progress, signal }));
  try {
    // What measures wants the machine for itself.
    await inParallel(
      runs.filter(({ scenario }) => !scenario.alone),
      jobs,
      one,
    );
    await inParallel(
      runs.filter(({ scenario }) => scenario.alone),
      1,
      one,
    );
  } finally {
    progress.stop();
  }
  return reports.sort((a, b) => a.row - b.row || a.seed - b.seed);
}

async function runOne(
  { scenario, seed }: Run,
  { options, progress, signal }: { options: ChaosOptions; progress: Progress; signal: AbortSignal },
): Promise<RowReport> {
  signal.throwIfAborted();
  progress.begin(`row ${scenario.row}, ${scenario.name}, seed ${seed}`);
  const who = options.jobs > 1 ? `row ${scenario.row}: ` : '';
  const say = (text: string) => progress.say(`${who}${text}`);
  const outOfTime = performance.now() > options.limitMs;
  const report: RowReport = outOfTime
    ? { ...blank(scenario, seed), verdict: 'skipped', notes: ['--minutes ran out'] }
    : await runScenario(scenario, { seed, scale: 1, reaches: options.reaches, signal, say });
  if (report.verdict === 'failed') say(`failed: ${[...report.violations, ...report.problems][0] ?? ''}`);
  progress.step();
  return report;
}

/** What `main` shows and writes, and whether all is well. */
interface Outcome {
  text: string;
  reports: readonly object[];
  isGood: boolean;
}

async function runMatrix(options: ChaosOptions, signal: AbortSignal): Promise<Outcome> {
  const reports = await runAll(options, signal);
  return { text: reportOf(reports), reports, isGood: reports.every(({ verdict }) => verdict !== 'failed') };
}

/** A run without a bug that was caught says nothing of the checker, so it is not green. */
async function runBugs({ rows, seeds }: ChaosOptions, signal: AbortSignal): Promise<Outcome> {
  const bugs = bugsOf(rows);
  if (bugs.length === 0) throw new UsageError(`--planted: no bug is planted in row ${rows.join(', ')}\n`);
  const progress = progressOn(process.stderr, bugs.length);
  try {
    const reports = await runPlanted(bugs, { seed: seeds[0]!, signal, progress });
    return { text: plantedTable(reports), reports, isGood: reports.every(({ verdict }) => verdict === 'caught') };
  } finally {
    progress.stop();
  }
}

/** Aborts at the first signal, so that everything is stopped in order; the second one ends us at once. */
function interruption(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (controller.signal.aborted) process.exit(130);
      process.stderr.write('\nchaos: stopping everything; once more to end at once\n');
      controller.abort(new Error(`interrupted by ${signal}`));
    });
  }
  return controller.signal;
}

async function main(): Promise<void> {
  const signal = interruption();
  try {
    const options = readOptions(process.argv.slice(2), 1 + Math.floor(Math.random() * 1_000_000));
    const { text, reports, isGood } = await (options.planted ? runBugs : runMatrix)(options, signal);
    process.stdout.write(`\n${text}\n`);
    if (options.json !== null) await writeFile(options.json, `${JSON.stringify(reports, null, 2)}\n`);
    process.exitCode = isGood ? 0 : 1;
  } catch (error) {
    if (error instanceof UsageError) {
      process.stderr.write(`chaos: ${error.message}`);
      process.exitCode = 2;
      return;
    }
    process.stderr.write(signal.aborted ? 'chaos: interrupted\n' : `chaos: ${(error as Error).stack}\n`);
    process.exitCode = signal.aborted ? 130 : 1;
  }
}

void main();

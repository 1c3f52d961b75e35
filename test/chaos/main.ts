/**
 * Runs the fault matrix against a platform of its own: `npm run chaos`. See docs/chaos.md.
 * Exit codes: 0 every row that ran has passed, 1 one failed, 2 usage, 130 interrupted.
 */
import { writeFile } from 'node:fs/promises';
import { progressOn } from './harness/progress';
import { reportOf } from './harness/report';
import { blank, runScenario } from './harness/run-scenario';
import type { RowReport } from './harness/scenario';
import { readOptions, UsageError, type ChaosOptions } from './options';
import { NOT_APPLICABLE, SCENARIOS } from './rows';

async function runAll(options: ChaosOptions, signal: AbortSignal): Promise<RowReport[]> {
  const { rows, seeds, limitMs, reaches } = options;
  const wanted = SCENARIOS.filter(({ row }) => rows.includes(row));
  const runs = wanted.flatMap((scenario) => seeds.map((seed) => ({ scenario, seed })));
  const reports: RowReport[] = NOT_APPLICABLE.filter(({ row }) => rows.includes(row)).map((each) =>
    blank({ ...each, floor: 0 }, 0),
  );
  const progress = progressOn(process.stderr, runs.length);
  const say = (text: string) => progress.say(text);
  try {
    for (const { scenario, seed } of runs) {
      signal.throwIfAborted();
      progress.begin(`row ${scenario.row}, ${scenario.name}, seed ${seed}`);
      const outOfTime = performance.now() > limitMs;
      const notRun = (): RowReport => ({ ...blank(scenario, seed), verdict: 'skipped', notes: ['--minutes ran out'] });
      reports.push(outOfTime ? notRun() : await runScenario(scenario, { seed, scale: 1, reaches, signal, say }));
      progress.step();
    }
  } finally {
    progress.stop();
  }
  return reports.sort((a, b) => a.row - b.row || a.seed - b.seed);
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
    const reports = await runAll(options, signal);
    process.stdout.write(`\n${reportOf(reports)}\n`);
    if (options.json !== null) await writeFile(options.json, `${JSON.stringify(reports, null, 2)}\n`);
    process.exitCode = reports.some(({ verdict }) => verdict === 'failed') ? 1 : 0;
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

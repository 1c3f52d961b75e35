/** Plants real bugs into the real product, one at a time, and demands that the row which is made for each finds it. */
import Table from 'cli-table3';
import pc from 'picocolors';
import { compiled } from '../harness/place';
import type { Progress } from '../harness/progress';
import { runScenario } from '../harness/run-scenario';
import type { RowReport } from '../harness/scenario';
import { SCENARIOS } from '../rows';
import { PLANTED_BUGS, type PlantedBug } from './bugs';

/** What came of one planted bug. */
export interface PlantedReport {
  bug: string;
  row: number;
  seed: number;
  /** What was to be found, any of it. */
  expected: readonly string[];
  /** Those among them that were found. */
  found: string[];
  /** What else the row said; when nothing was found, this tells why. */
  others: string[];
  verdict: 'caught' | 'missed';
}

/** Evidence that is shown of a bug that was missed. */
const SHOWN = 5;

/** Runs the rows of these bugs, each with its bug. Throws when it was interrupted. */
export async function runPlanted(
  bugs: readonly PlantedBug[],
  { seed, signal, progress }: { seed: number; signal: AbortSignal; progress: Progress },
): Promise<PlantedReport[]> {
  const reports: PlantedReport[] = [];
  for (const bug of bugs) {
    signal.throwIfAborted();
    progress.begin(`row ${bug.row} with a bug: ${bug.name}`);
    const report = await runWith(bug, { seed, signal, say: (text) => progress.say(text) });
    reports.push(report);
    progress.say(report.verdict);
    progress.step();
  }
  return reports;
}

/** The bugs whose rows are asked for. */
export function bugsOf(rows: readonly number[]): PlantedBug[] {
  return PLANTED_BUGS.filter(({ row }) => rows.includes(row));
}

async function runWith(
  bug: PlantedBug,
  { seed, signal, say }: { seed: number; signal: AbortSignal; say: (text: string) => void },
): Promise<PlantedReport> {
  const scenario = SCENARIOS.find(({ row }) => row === bug.row)!;
  const preloads = { [bug.root]: [compiled('test/chaos/planted', bug.preload)] };
  const bitten = { ...scenario, stage: { ...scenario.stage, preloads } };
  return judgePlanted(bug, await runScenario(bitten, { seed, scale: bug.scale, reaches: 100, signal, say }));
}

/** A bug is caught when one of its rules is among the violations; that the row failed for another reason proves nothing. */
export function judgePlanted(
  { name, row, rules }: Pick<PlantedBug, 'name' | 'row' | 'rules'>,
  { seed, violations, problems, notes }: Pick<RowReport, 'seed' | 'violations' | 'problems' | 'notes'>,
): PlantedReport {
  const ruleOf = (text: string) => /^\w+/.exec(text)?.[0] ?? '';
  const broken = new Set(violations.map(ruleOf));
  const found = rules.filter((rule) => broken.has(rule));
  const others = [...violations.filter((text) => !found.includes(ruleOf(text) as never)), ...problems, ...notes];
  const verdict = found.length > 0 ? 'caught' : 'missed';
  return { bug: name, row, seed, expected: rules, found, others, verdict };
}

/** The reports for people: a line for each bug, and what was found instead where it was missed. */
export function plantedTable(reports: readonly PlantedReport[]): string {
  const table = new Table({
    head: ['planted bug', 'row', 'seed', 'rule', 'verdict'],
    colAligns: ['left', 'right', 'right', 'left', 'left'],
    style: { head: [], border: [], compact: true },
  });
  for (const { bug, row, seed, expected, found, verdict } of reports) {
    const rule = found.length > 0 ? found.join(', ') : expected.join(' or ');
    table.push([bug, row, seed, rule, verdict === 'caught' ? pc.green(verdict) : pc.red('MISSED')]);
  }
  const missed = reports.filter(({ verdict }) => verdict === 'missed');
  const instead = missed.flatMap(({ bug, row, seed, others }) => [
    pc.bold(bug),
    ...others.slice(0, SHOWN).map((text) => pc.red(`  ✗ ${text}`)),
    pc.dim(`  again: npm run chaos -- --planted --rows ${row} --seed ${seed}`),
  ]);
  const text = `${reports.length - missed.length} of ${reports.length} planted bugs were caught`;
  return [table.toString(), ...instead, missed.length > 0 ? pc.red(text) : pc.green(text)].join('\n');
}

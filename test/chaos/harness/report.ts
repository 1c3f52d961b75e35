/** The reports for people: a line for each row, and the evidence below. */
import Table from 'cli-table3';
import pc from 'picocolors';
import { percent } from './run-scenario';
import type { RowReport, Verdict } from './scenario';

const MARKS: Record<Verdict, string> = {
  passed: pc.green('passed'),
  failed: pc.red('FAILED'),
  skipped: pc.yellow('skipped'),
  not_applicable: pc.dim('not applicable yet'),
};

/** The whole report. */
export function reportOf(reports: readonly RowReport[]): string {
  const table = new Table({
    head: ['row', 'fault', 'seed', 'completed', 'floor', 'invariants', 'recovery', 'verdict'],
    colAligns: ['right', 'left', 'right', 'right', 'right', 'left', 'right', 'left'],
    style: { head: [], border: [], compact: true },
  });
  for (const report of reports) table.push(cells(report));
  return [table.toString(), ...reports.flatMap(evidence), summary(reports)].join('\n');
}

function cells(report: RowReport): string[] {
  const { row, name, seed, verdict, sent, succeeded, floor, violations, recovery_ms } = report;
  const ran = verdict === 'passed' || verdict === 'failed';
  const held = violations.length === 0 ? pc.green('held') : pc.red(`${violations.length} broken`);
  return [
    String(row),
    name,
    ran ? String(seed) : '',
    ran ? `${succeeded}/${sent}` : '',
    ran ? percent(floor) : '',
    ran ? held : '',
    recovery_ms === null ? '' : `${(recovery_ms / 1_000).toFixed(1)} s`,
    MARKS[verdict],
  ];
}

/** At most so many sentences of evidence a row: more say nothing new. */
const SHOWN = 12;

function evidence({ row, seed, violations, problems, notes, verdict }: RowReport): string[] {
  const bad = [...violations, ...problems];
  const lines = [
    ...bad.slice(0, SHOWN).map((text) => pc.red(`  ✗ ${text}`)),
    ...(bad.length > SHOWN ? [pc.red(`  … and ${bad.length - SHOWN} more`)] : []),
    ...notes.map((text) => pc.dim(`  ${text}`)),
  ];
  if (lines.length === 0) return [];
  const again = verdict === 'failed' ? pc.dim(`  again: npm run chaos -- --rows ${row} --seed ${seed}`) : null;
  return [pc.bold(`row ${row}`), ...lines, ...(again ? [again] : [])];
}

function summary(reports: readonly RowReport[]): string {
  const count = (verdict: Verdict) => reports.filter((report) => report.verdict === verdict).length;
  const failed = count('failed');
  const text = `${count('passed')} passed, ${failed} failed, ${count('skipped')} skipped, ${count('not_applicable')} not applicable yet`;
  return failed > 0 ? pc.red(text) : pc.green(text);
}

import type { DoctorReport, Finding, Severity } from '../../protocol/doctor';
import type { CliIo } from '../io';
import { printable } from '../printable';
import { table } from './table';
import { count } from './text';

const ORDER: readonly Severity[] = ['error', 'warning', 'info', 'ok'];
const MARKS: Readonly<Record<Severity, string>> = { error: '✗', warning: '!', info: 'i', ok: '✓' };

/**
 * The report for people, worst first: what was measured, why it matters, what to do. Without `all` what is well is only
 * counted.
 */
export function renderDoctor(report: DoctorReport, io: CliIo, all: boolean): string {
  const { findings } = printable(report);
  const told = ORDER.filter((severity) => severity !== 'ok').flatMap((severity) =>
    findings.filter((one) => one.severity === severity && one.checked !== false),
  );
  const parts = told.map((finding) => renderFinding(finding, io));
  const rest = findings.filter(({ severity, checked }) => checked === false || (all && severity === 'ok'));
  if (rest.length > 0) parts.push(renderRest(rest, io));
  parts.push(summary(report, io));
  return parts.join('\n\n');
}

function renderFinding({ id, severity, subject, measured, why, fix, command }: Finding, { color }: CliIo): string {
  const head = [colored(severity, color)(MARKS[severity]), color.bold(id), subject && color.cyan(subject)].filter(
    Boolean,
  );
  const lines = [`${head.join('  ')}`, `    ${measured}`];
  if (why) lines.push(`    ${color.dim('why')}  ${why}`);
  if (fix) lines.push(`    ${color.dim('fix')}  ${fix}`);
  if (command) lines.push(`    ${color.dim('→')} ${command}`);
  return lines.join('\n');
}

function renderRest(findings: readonly Finding[], io: CliIo): string {
  const rows = findings.map(({ id, severity, measured, checked }) => [
    checked === false ? io.color.dim('?') : io.color.green(MARKS[severity]),
    id,
    measured,
  ]);
  return table(['', 'CHECK', { title: 'MEASURED', flexible: true }], rows, io);
}

function summary({ findings, counts }: DoctorReport, { color }: CliIo): string {
  const unmade = findings.filter(({ checked }) => checked === false).length;
  const parts = [
    counts.error > 0 && color.red(count(counts.error, 'error')),
    counts.warning > 0 && color.yellow(count(counts.warning, 'warning')),
    counts.info - unmade > 0 && `${counts.info - unmade} to know`,
    color.green(`${counts.ok} well`),
    unmade > 0 && color.dim(`${unmade} not checked`),
  ].filter(Boolean);
  return parts.join(' · ');
}

function colored(severity: Severity, color: CliIo['color']): (text: string) => string {
  return { error: color.red, warning: color.yellow, info: color.cyan, ok: color.green }[severity];
}

/** The evaluation for people. */
import Table from 'cli-table3';
import pc from 'picocolors';
import type { LanguageResult, SetResult } from './evaluate';
import type { Scores } from './scores';

/** One table for each set: ours and the baselines, over everything and by language. */
export function reportOf(results: readonly SetResult[], about: string): string {
  return `${[about, ...results.map(sectionOf)].join('\n\n')}\n`;
}

function sectionOf(result: SetResult): string {
  const { set, abilities, examples, calibration } = result;
  const { ece, false_refusals, false_acceptances } = calibration;
  const table = new Table({
    head: ['', 'queries', 'top-1', 'top-3', 'macro F1', 'off-topic AUROC'],
    colAligns: ['left', 'right', 'right', 'right', 'right', 'right'],
    style: { head: [], border: [], compact: true },
  });
  addRows(table, 'all', result);
  const languages = Object.entries(result.by_language);
  if (languages.length > 1) for (const [language, part] of languages) addRows(table, language, part);
  const refused = `${percent(false_refusals)} on topic refused`;
  const taken = false_acceptances === null ? '' : `, ${percent(false_acceptances)} off topic taken`;
  return [
    `${pc.bold(set)}: ${abilities} abilities, ${examples} examples`,
    table.toString(),
    pc.dim(`confidence: expected calibration error ${ece.toFixed(3)}; at fit 0.5: ${refused}${taken}`),
  ].join('\n');
}

function addRows(table: Table.Table, part: string, { n, n_offtopic, ours, baselines }: LanguageResult): void {
  const best = Math.max(...Object.values(baselines).map(({ top1 }) => top1));
  const count = n_offtopic > 0 ? `${n} + ${n_offtopic}` : String(n);
  const paint = ours.top1 >= best ? pc.green : pc.red;
  table.push([pc.bold(`${part}: agent-reach`), count, ...cells(ours).map((cell) => paint(cell))]);
  for (const [name, scores] of Object.entries(baselines))
    table.push([`  ${name.replaceAll('_', ' ')}`, '', ...cells(scores)]);
}

function cells({ top1, top3, macro_f1, offtopic_auroc }: Scores): string[] {
  return [top1, top3, macro_f1, offtopic_auroc].map((value) => (value === null ? '–' : value.toFixed(3)));
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

/** The figures for people. */
import Table from 'cli-table3';
import pc from 'picocolors';
import { CONTENDERS, type ContenderName } from './contenders';
import type { CpuFigure, Figures, Ratios } from './figures';
import { meets, targetOf, type Verdict } from './targets';

/** What a row of the tables is called. */
const LABELS: Record<ContenderName, string> = {
  plain: 'plain workflow',
  reach: 'reach, idempotent',
  regular: 'reach, regular',
};

/** All tables, one after the other. */
export function tablesOf(figures: Figures, verdicts: readonly Verdict[]): string {
  const { machine, plan, agents, embeddings } = figures;
  const circumstances = [
    `${machine.cpu}, ${machine.cores} cores, ${machine.memory_gb} GB, Node ${machine.node}, ${machine.platform}`,
    `${agents} agents offer the ability; routing by meaning: ${embeddings}`,
    ...(plan.quick ? [pc.yellow('A quick run: too few requests for figures to quote')] : []),
  ];
  const parts = [
    circumstances.join('\n'),
    titled('Milliseconds and requests per second', contenders(figures)),
    titled('Ratios to the plain workflow', ratios(figures)),
    titled('CPU per request, ms', cpu(figures)),
    titled('Events in the history', history(figures)),
    titled('Targets', targets(verdicts)),
  ];
  return `${parts.join('\n\n')}\n`;
}

function titled(title: string, table: Table.Table): string {
  return `${pc.bold(title)}\n${table.toString()}`;
}

function tableWith(head: string[]): Table.Table {
  const colAligns = head.map((_, column) => (column === 0 ? ('left' as const) : ('right' as const)));
  return new Table({ head, colAligns, style: { head: [], border: [], compact: true } });
}

function contenders(figures: Figures): Table.Table {
  const { concurrency } = figures.plan;
  const table = tableWith(['', 'p50', 'p95', 'p99', 'paced p50', 'paced p99', `per s at ${concurrency}`]);
  for (const name of CONTENDERS) {
    const { latency, paced, throughput_per_s } = figures[name];
    const times = [latency.p50_ms, latency.p95_ms, latency.p99_ms, paced.p50_ms, paced.p99_ms];
    table.push([LABELS[name], ...times.map((ms) => ms.toFixed(1)), throughput_per_s.toFixed(0)]);
  }
  return table;
}

const RATIOS: readonly (keyof Ratios)[] = [
  'p50_ratio',
  'p95_ratio',
  'p99_ratio',
  'paced_p50_ratio',
  'throughput_ratio',
];

function ratios(figures: Figures): Table.Table {
  const table = tableWith(['', 'p50', 'p95', 'p99', 'paced p50', 'throughput', 'p50 round by round']);
  const row = (pair: 'reach_vs_plain' | 'regular_vs_plain') =>
    RATIOS.map((ratio) => {
      const target = targetOf(pair, ratio);
      const text = figures[pair][ratio].toFixed(2);
      return target ? `${text} ${mark(meets(figures[pair][ratio], target))}` : `${text}  `;
    });
  const byRound = (name: ContenderName) =>
    figures[name].rounds
      .map(({ p50_ms }, round) => (p50_ms / figures.plain.rounds[round]!.p50_ms).toFixed(2))
      .join(' ');
  table.push([LABELS.reach, ...row('reach_vs_plain'), byRound('reach')]);
  table.push([LABELS.regular, ...row('regular_vs_plain'), byRound('regular')]);
  return table;
}

function cpu(figures: Figures): Table.Table {
  const table = tableWith(['', 'load', 'caller', 'worker or gateway', 'server', 'sum']);
  const cells = (use: CpuFigure | null) =>
    use ? [use.driver, use.worker, use.server, use.total].map((ms) => ms.toFixed(1)) : ['–', '–', '–', '–'];
  for (const name of CONTENDERS) {
    const { one_at_a_time, concurrent } = figures[name].cpu_ms_per_request;
    table.push([LABELS[name], 'one at a time', ...cells(one_at_a_time)]);
    table.push(['', `${figures.plan.concurrency} at a time`, ...cells(concurrent)]);
  }
  return table;
}

function history({ history: kinds }: Figures): Table.Table {
  const table = tableWith(['', 'events']);
  for (const name of CONTENDERS) table.push([LABELS[name], String(kinds[name].events)]);
  table.push(['reach, receipt then poll', String(kinds.receipt.events)]);
  return table;
}

function targets(verdicts: readonly Verdict[]): Table.Table {
  const table = tableWith(['figure', 'measured', 'target', '']);
  for (const { figure, value, limit, bound, met } of verdicts) {
    const measured = value === null ? '–' : String(Number(value.toFixed(3)));
    table.push([figure, measured, `${bound === 'at_most' ? '≤' : '≥'} ${limit}`, met === null ? '' : mark(met)]);
  }
  return table;
}

function mark(met: boolean): string {
  return met ? pc.green('✓') : pc.red('✗');
}

import type { ReplayedOutcome, ReplayReport } from '../../sdk/decisions';
import type { CliIo } from '../io';
import { table } from './table';
import { agentOf, count, percent, score } from './text';

type Place = Pick<CliIo, 'columns' | 'color'>;

/** What a replay found: how much changes, for whom, and which decisions. */
export function renderReplay(report: ReplayReport, io: Place): string {
  const parts = [summary(report, io)];
  if (report.agents.length > 0) parts.push(agents(report, io));
  if (report.listed.length > 0) parts.push(changes(report, io));
  if (report.not_recomputed.count > 0) parts.push(notRecomputed(report, io));
  if (report.cut !== undefined) parts.push(`${io.color.yellow('!')} ${report.cut}`);
  return parts.join('\n\n');
}

function summary(report: ReplayReport, { color }: Place): string {
  const { decisions, recomputed, changed, newly_refused, newly_taken, from, to } = report;
  if (decisions === 0) return 'No decisions fit.';
  const share = recomputed === 0 ? '' : ` (${percent(changed / recomputed)})`;
  const head = `${color.bold(`${changed} of ${count(recomputed, 'decision')} would change`)}${share}`;
  const details = [
    newly_refused > 0 ? `${newly_refused} would be refused` : '',
    newly_taken > 0 ? `${newly_taken} that were refused would be taken` : '',
  ].filter(Boolean);
  const { mean, max_absolute } = report.score_change;
  const scores = `scores move by ${signed(mean)} on average, by ${score(max_absolute)} at most`;
  return [`${[head, ...details].join('; ')}`, `${color.dim(`${from} – ${to}; ${scores}`)}`].join('\n');
}

function agents({ agents: all }: ReplayReport, io: Place): string {
  const rows = all.slice(0, 20).map((one) => {
    const moved = one.after - one.before;
    const told = moved === 0 ? '' : moved > 0 ? io.color.green(`+${moved}`) : io.color.red(String(moved));
    const before = `${one.before} (${percent(one.share_before)})`;
    return [agentOf(one.agent_name, one.agent_version), before, `${one.after} (${percent(one.share_after)})`, told];
  });
  const more = all.length > 20 ? io.color.dim(`\nand ${all.length - 20} more agents`) : '';
  return table(['AGENT', 'BEFORE', 'AFTER', 'MOVES'], rows, io) + more;
}

function changes({ listed, changed }: ReplayReport, io: Place): string {
  const rows = listed.map((one) => [
    one.reach_id ?? one.decision_id,
    who(one.before),
    who(one.after),
    one.after.route_reason,
  ]);
  const more =
    changed > listed.length ? io.color.dim(`\nand ${changed - listed.length} more; --limit N lists more`) : '';
  return table(['REACH', 'BEFORE', 'AFTER', { title: 'WHY', flexible: true }], rows, io) + more;
}

function who({ agent_name, agent_version, score: value, code }: ReplayedOutcome): string {
  if (agent_name === null) return code ?? 'nobody';
  return value === null
    ? agentOf(agent_name, agent_version)
    : `${agentOf(agent_name, agent_version)} ${value.toFixed(2)}`;
}

function notRecomputed({ not_recomputed: { count: n, reasons } }: ReplayReport, io: Place): string {
  const rows = reasons.map(({ reason, count: times }) => [String(times), reason]);
  return `${count(n, 'decision')} could not be decided again:\n${table(['HOW MANY', { title: 'WHY', flexible: true }], rows, io)}`;
}

function signed(value: number): string {
  return value >= 0 ? `+${score(value)}` : `-${score(-value)}`;
}

import type { ScalingHint } from '../../sdk/scaling';
import type { CliIo } from '../io';
import { table } from './table';
import { agentOf, measured, percent } from './text';

type Paint = Pick<CliIo, 'columns' | 'color'>;

/** A table of all agents, and below it a sentence for each that is not as it should be. */
export function renderScaling(hints: readonly ScalingHint[], io: Paint): string {
  if (hints.length === 0) return 'no agents are registered';
  const columns = ['AGENT', 'NOW', 'SHOULD', 'LOAD', 'TAKEN', 'P50', 'P99', 'WAIT P95', 'QUEUE', 'CAUSE', 'SURE'];
  const rows = hints.map((hint) => rowOf(hint, io.color));
  const notes = hints.flatMap((hint) => noteOf(hint, io.color));
  return [table(columns, rows, io), ...notes].join('\n');
}

function rowOf({ current, recommended, cause, confidence, ...hint }: ScalingHint, color: CliIo['color']): string[] {
  const { service_ms: service } = current;
  return [
    agentOf(hint.agent_name, hint.agent_version),
    String(current.instances),
    target(current.instances, recommended.instances, color),
    `${Number(current.arrival_per_sec.toPrecision(3))}/s`,
    taken(current.utilisation, color),
    measured(service.p50),
    measured(service.p99),
    wait(current, color),
    String(current.queue_depth),
    paint(cause, color),
    percent(confidence),
  ];
}

/** Nothing for an agent that is as it should be. */
function noteOf(
  { agent_name, agent_version, cause, current, recommended, advice }: ScalingHint,
  color: CliIo['color'],
): string[] {
  if (cause === 'steady' || (cause === 'no_data' && recommended.instances === current.instances)) return [];
  const head = `${color.bold(agentOf(agent_name, agent_version))}: ${recommended.reason}.`;
  return ['', head, ...advice.map((line) => `  ${color.cyan('→')} ${line}.`)];
}

function target(now: number, wanted: number, color: CliIo['color']): string {
  if (wanted > now) return color.red(`${wanted} ↑`);
  return wanted < now ? color.cyan(`${wanted} ↓`) : String(wanted);
}

function taken(utilisation: number | null, color: CliIo['color']): string {
  const text = percent(utilisation);
  if (utilisation === null || utilisation < 0.8) return text;
  return utilisation >= 1 ? color.red(text) : color.yellow(text);
}

/** A load over the capacity waits ever longer. */
function wait({ wait_ms_p95_estimate: waitMs, utilisation }: ScalingHint['current'], color: CliIo['color']): string {
  return waitMs === null && utilisation !== null ? color.red('grows') : measured(waitMs);
}

function paint(cause: ScalingHint['cause'], color: CliIo['color']): string {
  const text = cause.replaceAll('_', ' ');
  if (cause === 'steady' || cause === 'no_data') return color.green(text);
  return cause === 'idle' ? color.cyan(text) : color.yellow(text);
}

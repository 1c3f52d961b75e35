import type { Trace, TraceHop } from '../../protocol/shapes';
import type { CliIo } from '../io';
import { status } from './status';
import { table } from './table';
import { agentOf, duration, fit } from './text';

/** Columns of the time axis when stdout is no terminal. */
const PLAIN_AXIS = 40;
const NARROWEST_AXIS = 16;
/** What the columns beside the axis take at most. */
const BESIDES = 62;
const OUTCOME_WIDTH = 40;
const GOOD = new Set(['ok', 'completed', 'accepted']);

/** A waterfall in the terminal: one line per hop, its bar where and as long as it was (R33). */
export function renderTrace(trace: Trace, io: CliIo): string {
  const { color } = io;
  const axis = Math.max(NARROWEST_AXIS, io.columns === undefined ? PLAIN_AXIS : Math.min(60, io.columns - BESIDES));
  const start = Date.parse(trace.started_at);
  const span = Math.max(
    1,
    trace.duration_ms,
    ...trace.hops.map((hop) => Date.parse(hop.started_at) - start + hop.duration_ms),
  );
  const rows = trace.hops.map((hop) => [
    nameOf(hop),
    bar(hop, { start, span, axis, color }),
    duration(hop.duration_ms).padStart(7),
    whoAndHow(hop, color),
  ]);
  const title = `${status(trace.status, color)}  ${color.bold(trace.reach_id)}  ${duration(trace.duration_ms)}  ${color.dim(`trace ${trace.trace_id}`)}`;
  const scale = `0${duration(span).padStart(axis - 1)}`;
  return `${title}\n\n${table(['HOP', scale, 'TOOK', 'OUTCOME'], rows, io)}`;
}

function nameOf(hop: TraceHop): string {
  return hop.attempt !== undefined && hop.attempt > 0 && hop.name === 'invoke'
    ? `${hop.name} #${hop.attempt}`
    : hop.name;
}

interface Axis {
  start: number;
  span: number;
  axis: number;
  color: CliIo['color'];
}

function bar(hop: TraceHop, { start, span, axis, color }: Axis): string {
  const offset = Math.max(0, Date.parse(hop.started_at) - start);
  const from = Math.min(axis - 1, Math.floor((offset / span) * axis));
  const length = Math.max(1, Math.min(axis - from, Math.round((hop.duration_ms / span) * axis)));
  const paint = isGood(hop)
    ? hop.name === 'queue' || hop.name === 'wait_result'
      ? color.yellow
      : color.green
    : color.red;
  const drawn = hop.duration_ms < 1 && length === 1 ? '▏' : '█'.repeat(length);
  return ' '.repeat(from) + paint(drawn) + ' '.repeat(Math.max(0, axis - from - length));
}

function whoAndHow(hop: TraceHop, color: CliIo['color']): string {
  const who = hop.agent_name ? `${agentOf(hop.agent_name, hop.agent_version)} ` : '';
  const outcome = isGood(hop) ? hop.outcome : color.red(hop.outcome);
  const reason = hop.reason ? color.dim(` – ${fit(hop.reason, OUTCOME_WIDTH)}`) : '';
  const children = hop.children?.length ? color.dim(` → ${hop.children.join(', ')}`) : '';
  return `${who}${outcome}${reason}${children}`;
}

const isGood = (hop: TraceHop) => GOOD.has(hop.outcome);

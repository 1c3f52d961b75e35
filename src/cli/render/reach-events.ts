import type { ReachLifecycleEvent } from '../../sdk/reach-events';
import type { CliIo } from '../io';
import { status } from './status';
import { agentOf, duration } from './text';

/** Columns of the longest name of an event. */
const NAME_WIDTH = 'outcome_unknown'.length;

/** One line for one event: when since the first, what, and what belongs to it. */
export function renderEvent({ event, data }: ReachLifecycleEvent, sinceMs: number, color: CliIo['color']): string {
  const name = paint(event, color) + ' '.repeat(Math.max(0, NAME_WIDTH - event.length));
  return `${color.dim(`+${duration(sinceMs)}`.padStart(8))}  ${name}  ${detailOf(event, data)}`.trimEnd();
}

function paint(event: ReachLifecycleEvent['event'], color: CliIo['color']): string {
  if (event === 'routed' || event === 'agent_accepted') return event;
  return event === 'attempt_failed' ? color.red(event) : status(event, color);
}

function detailOf(event: ReachLifecycleEvent['event'], data: ReachLifecycleEvent['data']): string {
  const said = (name: string) => (typeof data[name] === 'string' ? data[name] : '');
  switch (event) {
    case 'accepted':
      return `trace ${said('trace_id')}`;
    case 'routed':
      return said('route_reason');
    case 'attempt_failed':
      return `#${Number(data.n)} at ${agentOf(said('agent_name'), said('agent_version'))}: ${said('code')}, ${said('message')}`;
    case 'completed':
      return data.degraded === true ? 'by a fallback' : '';
    default:
      return problemOf(data) || said('reason');
  }
}

function problemOf({ error }: ReachLifecycleEvent['data']): string {
  const { code, detail } = (error ?? {}) as { code?: string; detail?: string };
  return code === undefined ? '' : `${code}: ${detail ?? ''}`;
}

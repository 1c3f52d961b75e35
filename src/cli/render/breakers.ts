import type { BreakerItem } from '../../protocol/breaker-override';
import type { BreakerState } from '../../protocol/reliability';
import type { CliIo } from '../io';
import { jsonText } from '../printable';
import { table } from './table';
import { agentOf, ago, count, percent } from './text';

/** Breakers as a table, one a line. */
export function renderBreakers(items: readonly BreakerItem[], io: Pick<CliIo, 'columns' | 'color'>): string {
  const rows = items.map((item) => [
    agentOf(item.agent_name, item.agent_version),
    item.ability,
    paint(item.state, io.color) + (item.override ? io.color.dim(' (held)') : ''),
    percent(item.share),
    item.requests === 0 ? '-' : `${percent(item.error_rate)} of ${item.requests}`,
    ago(item.since).replace(' ago', ''),
    whyOf(item),
  ]);
  return table(['AGENT', 'ABILITY', 'BREAKER', 'PASSES', 'FAILED', 'FOR', { title: 'WHY', flexible: true }], rows, io);
}

/** What a command did to breakers, a sentence each. */
export function renderOutcome(items: readonly BreakerItem[], color: CliIo['color']): string {
  return items
    .map((item) => {
      const whose = `${item.ability} at ${agentOf(item.agent_name, item.agent_version)}`;
      const { override } = item;
      if (!override) return `${whose} is on its own again: ${paint(item.state, color)}`;
      const until = override.expires_at === null ? 'until it is taken back' : `until ${override.expires_at}`;
      return `${whose} is held ${paint(item.state, color)} ${until}`;
    })
    .join('\n');
}

/** What changed from one look to the next, for output that goes on: ever the whole line of a breaker, or that it is gone. */
function changedBreakers(before: readonly BreakerItem[], now: readonly BreakerItem[]): string[] {
  const known = new Map(before.map((item) => [nameOf(item), newsOf(item)]));
  const changed = now.filter((item) => known.get(nameOf(item)) !== newsOf(item)).map(newsOf);
  const left = new Set(now.map(nameOf));
  return [...changed, ...[...known.keys()].filter((name) => !left.has(name)).map((name) => `${name} closed`)];
}

/** `2 breakers are not closed`, for what stands above a table that is drawn again and again. */
export function summary(items: readonly BreakerItem[]): string {
  const shut = items.filter(({ state }) => state !== 'closed').length;
  return shut === 0 ? 'All circuit breakers are closed.' : `${count(shut, 'circuit breaker')} not closed`;
}

/** Shows what a look at the breakers found. */
type Draw = (items: BreakerItem[]) => void;

/** Goes up to where the last picture began and clears the rest of the screen (ECMA-48 CUU, ED). */
export function picture(io: CliIo): Draw {
  let height = 0;
  return (items) => {
    const title = io.color.dim(`${summary(items)}  ${new Date().toISOString().slice(11, 19)}Z`);
    const text = items.length > 0 ? `${title}\n${renderBreakers(items, io)}\n` : `${title}\n`;
    io.out(`${height > 0 ? `\u001b[${height}A` : ''}\r\u001b[0J${text}`);
    height = text.split('\n').length - 1;
  };
}

/** A line with the time for everything that changed. */
export function linesOnChange(io: CliIo): Draw {
  let before: BreakerItem[] | null = null;
  return (items) => {
    if (before === null && items.length === 0) io.out(`${summary(items)}\n`);
    for (const line of changedBreakers(before ?? [], items)) io.out(`${new Date().toISOString()} ${line}\n`);
    before = items;
  };
}

/** The whole list as JSON whenever it changed. */
export function jsonOnChange(io: CliIo): Draw {
  let before: BreakerItem[] | null = null;
  return (items) => {
    if (before === null || changedBreakers(before, items).length > 0) io.out(`${jsonText({ items })}\n`);
    before = items;
  };
}

const nameOf = (item: BreakerItem) => `${agentOf(item.agent_name, item.agent_version)} ${item.ability}`;

/** Without the counts, which change all the time. */
function newsOf(item: BreakerItem): string {
  const why = whyOf(item);
  return `${nameOf(item)} ${item.state} passes ${percent(item.share)}${why && ` – ${why}`}`;
}

function whyOf({ override, reason }: BreakerItem): string {
  if (!override) return reason ?? '';
  return `${override.reason} (${override.by}${override.expires_at === null ? '' : `, until ${override.expires_at}`})`;
}

function paint(state: BreakerState, color: CliIo['color']): string {
  if (state === 'closed') return color.green(state);
  return state === 'open' ? color.red(state) : color.yellow(state);
}

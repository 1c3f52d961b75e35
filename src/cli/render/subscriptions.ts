import type { EventFilter, Subscription } from '../../sdk/subscriptions';
import type { Published } from '../../sdk/publish';
import type { CliIo } from '../io';
import { table } from './table';
import { ago, count } from './text';

/** Of many reaches so many are named. */
const MAX_SHOWN = 20;

/** Subscriptions as a table, one a line. */
export function renderSubscriptions(items: readonly Subscription[], io: Pick<CliIo, 'columns' | 'color'>): string {
  const rows = items.map(({ id, topic, agent, ability, type, filter, created_at }) => [
    id,
    topic,
    agent ?? '-',
    ability ?? '-',
    type ?? '-',
    ago(created_at),
    filter === undefined ? '' : filterText(filter),
  ]);
  return table(['ID', 'TOPIC', 'AGENT', 'ABILITY', 'TYPE', 'SINCE', { title: 'FILTER', flexible: true }], rows, io);
}

/** What became of an event. */
export function renderPublished(topic: string, { event_id, matched, reach_ids }: Published, { color }: CliIo): string {
  const whom = matched === 0 ? color.yellow('nobody listens') : `goes to ${count(matched, 'subscriber')}`;
  const lines = [`${color.green('✓')} ${color.bold(event_id)}  ${topic}  ${whom}`];
  lines.push(...reach_ids.slice(0, MAX_SHOWN).map((id) => `  ${id}`));
  if (reach_ids.length > MAX_SHOWN)
    lines.push(color.dim(`  and ${reach_ids.length - MAX_SHOWN} more; --json lists them all`));
  const [first] = reach_ids;
  const next = first === undefined ? `agent-reach subscriptions list --topic ${topic}` : `agent-reach get ${first}`;
  return [...lines, color.dim(`next: ${next}`)].join('\n');
}

/** `type=order.created subject=eu/…` */
function filterText(filter: EventFilter): string {
  const terms = Object.entries(filter).flatMap(([key, value]) => {
    if (typeof value === 'string') return [`${key}=${value}`];
    return Object.entries(value).map(([name, wanted]) => {
      if (key === 'prefix') return `${name}=${wanted}…`;
      return key === 'suffix' ? `${name}=…${wanted}` : `${name}=${wanted}`;
    });
  });
  return terms.join(' ');
}

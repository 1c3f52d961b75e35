import type { Delivery } from '../../sdk/callbacks';
import type { CliIo } from '../io';
import { facts, table } from './table';
import { ago, fit } from './text';

const REASON_WIDTH = 60;

/** A table, newest first. */
export function renderDeliveries(items: readonly Delivery[], io: CliIo): string {
  const rows = items.map((item) => [
    item.id,
    stateOf(item, io.color),
    item.reach_id,
    String(item.attempts),
    ago(item.started_at),
    targetOf(item),
    fit(item.last_error?.message ?? '-', REASON_WIDTH),
  ]);
  return table(['CALLBACK', 'STATE', 'REACH', 'ATTEMPTS', 'SINCE', 'TO', { title: 'WHY', flexible: true }], rows, io);
}

/** Everything known of one. */
export function renderDelivery(delivery: Delivery, io: CliIo): string {
  const { last_error: error } = delivery;
  return facts(
    [
      ['callback', io.color.bold(delivery.id)],
      ['state', stateOf(delivery, io.color)],
      ['reach', delivery.reach_id],
      ['run', delivery.run_id],
      ['to', targetOf(delivery)],
      ['attempts', String(delivery.attempts)],
      ['last error', error?.message],
      ['next attempt', delivery.next_attempt_at],
      ['since', delivery.started_at],
      ['ended', delivery.ended_at],
    ],
    io,
  );
}

function targetOf({ to }: Delivery): string {
  if ('url' in to) return to.url;
  return 'topic' in to ? `topic ${to.topic}` : `signal ${to.signal} of ${to.workflow_id}`;
}

function stateOf({ status }: Delivery, color: CliIo['color']): string {
  if (status === 'failed') return color.red(status);
  return status === 'delivered' ? color.green(status) : color.yellow(status);
}

import Table from 'cli-table3';
import type { RoutingSpeed } from '../routing-speed';

/** The figures of routing speed for people. */
export function speedTable(speed: RoutingSpeed): string {
  const table = new Table({
    head: ['', 'p50 ms', 'p99 ms'],
    colAligns: ['left', 'right', 'right'],
    style: { head: [], border: [], compact: true },
  });
  for (const [kind, { p50_ms, p99_ms }] of Object.entries(speed.kinds)) {
    table.push([`${kind}, ${speed.agents} agents`, p50_ms.toFixed(2), p99_ms.toFixed(2)]);
  }
  const { p50_ms, p99_ms, startup_ms, bytes_per_ability } = speed.ten_thousand;
  table.push(['*, 10,000 agents', p50_ms.toFixed(2), p99_ms.toFixed(2)]);
  const start = `start with 10,000 descriptors, vectors on disk: ${(startup_ms / 1000).toFixed(1)} s`;
  return `${table.toString()}\n${start}; ${bytes_per_ability} bytes per ability beyond its vectors`;
}

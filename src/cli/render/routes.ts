import { splitKey, splitTarget } from '../../protocol/route-table';
import type { RouteEntry, RouteTableWritten } from '../../sdk/routes';
import type { CliIo } from '../io';
import { table } from './table';
import { count } from './text';

/** The route table, one route a line, with what each version gets of its agent's calls in the group. */
export function renderRoutes(routes: readonly RouteEntry[], io: Pick<CliIo, 'columns' | 'color'>): string {
  if (routes.length === 0)
    return 'No routes: the version of an agent that is known longest takes its calls, newer ones get 1 %.';
  const totals = new Map<string, number>();
  for (const route of routes) totals.set(keyOf(route), (totals.get(keyOf(route)) ?? 0) + route.weight);
  const rows = routes.map((route) => {
    const { ability, from, to, weight } = route;
    return [ability, from, to, String(weight), shareOf(weight, totals.get(keyOf(route))!)];
  });
  return table([{ title: 'ABILITY', flexible: true }, 'FROM', 'TO', 'WEIGHT', 'SHARE'], rows, io);
}

/** What was written, and routes that lead nowhere now. */
export function renderRoutesWritten({ routes, warnings }: RouteTableWritten, io: CliIo): string {
  const lines = [`${io.color.green('✓')} ${count(routes.length, 'route')} in the table`];
  lines.push(...warnings.map((warning) => `${io.color.yellow('!')} ${warning}`));
  if (routes.length > 0) lines.push(renderRoutes(routes, io));
  return lines.join('\n');
}

function keyOf({ ability, from, to }: RouteEntry): string {
  return splitKey(ability, from, splitTarget(to).name);
}

/** `12.5 %`, two digits where it is little, and `none` for 0. */
function shareOf(weight: number, total: number): string {
  if (weight === 0) return 'none';
  const percent = (weight / total) * 100;
  return `${percent >= 10 ? Math.round(percent * 10) / 10 : Number(percent.toPrecision(2))} %`;
}

import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { ReachError } from '../../protocol/reach-error';
import { splitTarget } from '../../protocol/route-table';
import type { RouteEntry, RoutesClient } from '../../sdk/routes';
import { parseAgentRef } from '../agent-ref';
import { readPayload } from '../envelope-options';
import { UsageError } from '../exit-codes';
import { printableAnswers } from '../printable';
import { renderRoutes, renderRoutesWritten } from '../render/routes';
import type { CliContext, Session } from '../session';

const EXAMPLES = `
Examples:
  $ agent-reach routes list
  $ agent-reach routes set refund default refund_agent#1.2.0=95 refund_agent#1.3.0=5
  $ agent-reach routes list --json > routes.json    edit it, and write it back unless others did meanwhile:
  $ agent-reach routes set routes.json
  $ agent-reach routes remove refund default    the rollout is over: whoever had the most keeps the calls`;

/** `routes list|set|remove` (R21). */
export function addRoutes(program: Command, context: CliContext): void {
  const group = program
    .command('routes')
    .description('how the versions of agents share the calls of a caller group')
    .addHelpText('after', EXAMPLES);
  addList(group, context);
  addSet(group, context);
  addRemove(group, context);
}

interface ListOptions {
  ability?: string;
  group?: string;
  agent?: string;
}

function addList(group: Command, { run }: CliContext): void {
  group
    .command('list')
    .description('the route table; with --json as `routes set` takes it back')
    .option('--ability <name>', 'for this ability')
    .option('--group <name>', 'for this caller group')
    .option('--agent <name[#version]>', 'of this agent')
    .action((options: ListOptions, self: Command) =>
      run(self, async (session) => {
        const { routes, etag } = await clientOf(session).get({ signal: session.io.signal });
        const wanted = routes.filter((route) => isWanted(route, options));
        session.print({ routes: wanted, ...(wanted.length === routes.length && { etag }) }, () =>
          renderRoutes(wanted, session.io),
        );
      }),
    );
}

function isWanted({ ability, from, to }: RouteEntry, wanted: ListOptions): boolean {
  return (
    (wanted.ability === undefined || ability === wanted.ability) &&
    (wanted.group === undefined || from === wanted.group) &&
    isOf(to, wanted.agent)
  );
}

/** Whether a route leads to this agent, or to this version of it; undefined means any. */
function isOf(to: string, agent: string | undefined): boolean {
  if (agent === undefined) return true;
  const { name, version } = parseAgentRef(agent);
  return version === undefined ? splitTarget(to).name === name : to === `${name}#${version}`;
}

function addSet(group: Command, { run }: CliContext): void {
  group
    .command('set')
    .description('write the whole table from a file, or the routes of one ability and caller group')
    .argument('<file-or-ability>', 'a file ({"routes": […]}, - is stdin), or an ability')
    .argument('[from]', 'caller group, such as default')
    .argument('[to=weight...]', 'name#version=weight; what these agents had for the ability and group is replaced')
    .action(function (this: Command, first: string, from: string | undefined, targets: string[]) {
      return run(this, async (session) => {
        const written = await (from === undefined
          ? setAll(session, first)
          : setSome(session, { ability: first, from, targets }));
        session.print(written, () => renderRoutesWritten(written, session.io));
      });
    });
}

/** An `etag` in the file is the condition of the write. */
async function setAll(session: Session, file: string) {
  if (file !== '-' && !existsSync(file))
    throw new UsageError(
      `there is no file ${file}; for one ability write: agent-reach routes set ABILITY GROUP name#version=weight`,
    );
  const document = await readPayload(file === '-' ? '-' : `@${file}`, session.io);
  if (!Array.isArray(document.routes))
    throw new UsageError(`${file} must hold {"routes": […]}, as PUT /v1/routes takes it`);
  const condition = typeof document.etag === 'string' ? { ifMatch: document.etag } : {};
  const routes = document.routes as unknown as RouteEntry[];
  return clientOf(session).put(routes, { ...condition, signal: session.io.signal });
}

/** Replaces what the named agents had for the ability and the group, and nothing else. */
async function setSome(
  session: Session,
  { ability, from, targets }: { ability: string; from: string; targets: string[] },
) {
  if (targets.length === 0) throw new UsageError('name at least one version and its weight: refund_agent#1.3.0=5');
  const added = targets.map((target) => ({ ability, from, ...parseTarget(target) }));
  const agents = new Set(added.map(({ to }) => splitTarget(to).name));
  const isReplaced = (route: RouteEntry) =>
    route.ability === ability && route.from === from && agents.has(splitTarget(route.to).name);
  const signal = session.io.signal;
  return clientOf(session).update((routes) => [...routes.filter((route) => !isReplaced(route)), ...added], { signal });
}

function addRemove(group: Command, { run }: CliContext): void {
  group
    .command('remove')
    .description('take the routes of one ability and caller group out of the table')
    .argument('<ability>', 'an ability')
    .argument('<from>', 'caller group, such as default')
    .option('--agent <name[#version]>', 'only those of this agent, or of this version')
    .action((ability: string, from: string, { agent }: { agent?: string }, self: Command) =>
      run(self, async (session) => {
        const isMeant = (route: RouteEntry) =>
          route.ability === ability && route.from === from && isOf(route.to, agent);
        const change = (routes: readonly RouteEntry[]) => {
          const kept = routes.filter((route) => !isMeant(route));
          if (kept.length < routes.length) return kept;
          const whose = agent === undefined ? '' : ` of ${agent}`;
          throw new ReachError(
            'not_found',
            `No route${whose} is for ${ability} and the group ${from}; agent-reach routes list`,
          );
        };
        const written = await clientOf(session).update(change, { signal: session.io.signal });
        session.print(written, () => renderRoutesWritten(written, session.io));
      }),
    );
}

function parseTarget(text: string): Pick<RouteEntry, 'to' | 'weight'> {
  const match = /^([^#=]+#[^=]+)=(\d{1,10})$/.exec(text);
  if (match) return { to: match[1]!, weight: Number(match[2]) };
  throw new UsageError(
    `${text} is not name#version=weight, such as refund_agent#1.3.0=5; weights are whole and relative`,
  );
}

/** Without `--json` what it answers is safe to print. */
function clientOf({ client, json }: Session): RoutesClient {
  return json ? client.routes : printableAnswers(client.routes);
}

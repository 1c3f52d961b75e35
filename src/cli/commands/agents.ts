import type { Command } from 'commander';
import type { InstanceState } from '../../protocol/shapes';
import type { AgentView } from '../../sdk/wire-types';
import { noSuchVersion, parseAgentRef, type AgentRef } from '../agent-ref';
import type { CliIo } from '../io';
import { status } from '../render/status';
import { facts, table } from '../render/table';
import { ago, count, duration, measured, percent } from '../render/text';
import type { CliContext, Session } from '../session';

/** `agents [NAME[#VERSION]]`. */
export function addAgents(program: Command, { run }: CliContext): void {
  program
    .command('agents')
    .description('the agents there are, or everything about one')
    .argument('[name]', 'NAME, or NAME#VERSION for one version of it')
    .addHelpText(
      'after',
      '\nExamples:\n  $ agent-reach agents\n  $ agent-reach agents product_qa\n  $ agent-reach agents product_qa#1.2.0\n  $ agent-reach agents --json | jq -r ".items[].name"',
    )
    .action((name: string | undefined, _options: unknown, command: Command) =>
      run(command, (session) => (name === undefined ? listAgents(session) : showAgent(session, name))),
    );
}

async function listAgents({ client, io, print }: Session): Promise<void> {
  const page = await client.agents();
  print(page, () =>
    page.items.length > 0
      ? renderAgents(page.items, io)
      : 'No agents yet; `agent-reach register FILE` makes one known.',
  );
}

function renderAgents(agents: readonly AgentView[], io: CliIo): string {
  const rows = agents.map((agent) => [
    agent.name,
    agent.versions.map(({ version }) => version).join(', '),
    status(agent.status, io.color),
    String(agent.instances.length),
    String(agent.stats.in_flight),
    measured(agent.stats.p50_ms),
    measured(agent.stats.p99_ms),
    percent(agent.stats.failure_rate),
    [...new Set(agent.abilities.map(({ name }) => name))].join(', '),
  ]);
  return table(
    [
      'NAME',
      'VERSIONS',
      'STATUS',
      'INSTANCES',
      'IN FLIGHT',
      'P50',
      'P99',
      'FAILURES',
      { title: 'ABILITIES', flexible: true },
    ],
    rows,
    io,
  );
}

async function showAgent({ client, io, print }: Session, text: string): Promise<void> {
  const ref = parseAgentRef(text);
  const agent = await client.agent(ref.name);
  const shown = ref.version === undefined ? agent : atVersion(agent, ref);
  print(shown, () => renderAgent(shown, io, agent.versions.length > shown.versions.length ? ', all versions' : ''));
}

/** What an agent has of one version. Its status and its measurements stay those of all: nobody counts them by version. */
function atVersion(agent: AgentView, ref: AgentRef): AgentView {
  const { version } = ref;
  const versions = agent.versions.filter((one) => one.version === version);
  if (versions.length === 0)
    throw noSuchVersion(
      ref,
      agent.versions.map((one) => one.version),
    );
  return {
    ...agent,
    versions,
    instances: agent.instances.filter((one) => one.version === version),
    abilities: agent.abilities.filter((one) => one.agent_version === version),
  };
}

/** `whose`: behind the names of facts that are of more than what is shown. */
function renderAgent(agent: AgentView, io: CliIo, whose: string): string {
  const { stats } = agent;
  const [newest] = agent.versions;
  const top = facts(
    [
      ['agent', io.color.bold(agent.name)],
      [`status${whose}`, status(agent.status, io.color)],
      ['about', newest?.descriptor.description],
      [
        'versions',
        agent.versions.map(({ version, registered_at }) => `${version} (registered ${ago(registered_at)})`).join(', '),
      ],
      ['endpoint', newest?.descriptor.endpoint?.protocol],
      ['accepts', newest?.descriptor.accepted_message_types.join(', ')],
      [
        `requests${whose}`,
        stats.requests === 0
          ? 'none yet'
          : `${stats.requests}, ${percent(stats.failure_rate)} failed, ${stats.in_flight} in flight`,
      ],
      [
        `latency${whose}`,
        stats.p50_ms === null
          ? undefined
          : `p50 ${measured(stats.p50_ms)}, p95 ${measured(stats.p95_ms)}, p99 ${measured(stats.p99_ms)}`,
      ],
    ],
    io,
  );
  return [top, renderInstances(agent.instances, io), renderAbilities(agent, io)].join('\n\n');
}

function renderInstances(instances: readonly InstanceState[], io: CliIo): string {
  if (instances.length === 0) return io.color.yellow('No instances: nothing takes its work.');
  const rows = instances.map((instance) => [
    instance.instance_id,
    instance.version,
    status(instance.status, io.color),
    `${instance.in_flight}/${instance.max_concurrency ?? '∞'}`,
    instance.health,
    instance.lease_remaining_sec === undefined ? '-' : duration(instance.lease_remaining_sec * 1_000),
    instance.host ?? '-',
    `${instance.status_reason}, since ${ago(instance.since).replace(' ago', '')}`,
  ]);
  return table(
    ['INSTANCE', 'VERSION', 'STATUS', 'IN FLIGHT', 'HEALTH', 'LEASE', 'HOST', { title: 'WHY', flexible: true }],
    rows,
    io,
  );
}

function renderAbilities(agent: AgentView, io: CliIo): string {
  const rows = agent.abilities.map((ability) => [
    ability.name,
    ability.agent_version ?? '-',
    ability.breaker?.state ?? '-',
    ability.stats ? count(ability.stats.requests, 'request') : '-',
    measured(ability.stats?.p50_ms),
    ability.description ?? '',
  ]);
  return table(['ABILITY', 'VERSION', 'BREAKER', 'TRAFFIC', 'P50', { title: 'DESCRIPTION', flexible: true }], rows, io);
}

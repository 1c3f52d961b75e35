import type { Command } from 'commander';
import type { AgentVersionRemoval } from '../../sdk/removal';
import { parseAgentAt, type AgentRef } from '../agent-ref';
import type { CliIo } from '../io';
import { count } from '../render/text';
import type { CliContext, Session } from '../session';

/** `unregister NAME[#VERSION]`: an agent, or one version of it, leaves the registry. */
export function addUnregister(program: Command, { run }: CliContext): void {
  program
    .command('unregister')
    .description('remove an agent with all its versions, or one version, with its instances')
    .argument('<name[#version]>')
    .option('--agent-version <version>', 'this version only')
    .addHelpText(
      'after',
      '\nExamples:\n  $ agent-reach unregister refund_agent#1.2.0\n  $ agent-reach unregister refund_agent --agent-version 1.2.0\n  $ agent-reach unregister refund_agent\n\nAgents that still run register themselves again: stop them first.',
    )
    .action((text: string, { agentVersion }: { agentVersion?: string }, command: Command) => {
      const target = parseAgentAt(text, agentVersion);
      return run(command, (session) => unregister(session, target));
    });
}

async function unregister({ client, io, print }: Session, { name, version }: AgentRef): Promise<void> {
  const { signal } = io;
  if (version === undefined) {
    await client.removeAgent(name, { signal });
    const { color } = io;
    return print({ agent_name: name, removed: true }, () => `${color.green('✓')} ${color.bold(name)}  removed`);
  }
  const removed = await client.removeAgentVersion(name, version, { signal });
  print(removed, () => told(removed, io));
}

function told(removed: AgentVersionRemoval, { color }: CliIo): string {
  const { agent_name, agent_version, instances, breakers, versions_left, warnings } = removed;
  const along = [
    ...(instances.length > 0 ? [count(instances.length, 'instance')] : []),
    ...(breakers.length > 0 ? [`the circuit breakers of ${breakers.join(', ')}`] : []),
  ];
  const left = versions_left.length > 0 ? `left: ${versions_left.join(', ')}` : 'no version is left';
  const what = `removed${along.length > 0 ? ` with ${along.join(' and ')}` : ''}; ${left}`;
  const line = `${color.green('✓')} ${color.bold(`${agent_name}#${agent_version}`)}  ${what}`;
  return [line, ...warnings.map((warning) => `  ${color.yellow(warning)}`)].join('\n');
}

import type { Command } from 'commander';
import type { ScalingHint } from '../../sdk/scaling';
import { noSuchVersion, parseAgentRef, type AgentRef } from '../agent-ref';
import { renderScaling } from '../render/scaling';
import type { CliContext } from '../session';

const EXAMPLES = `
Examples:
  $ agent-reach scaling                      every agent: what it carries, what it should have, and why
  $ agent-reach scaling refund_agent --json | jq '.items[0].recommended.instances'`;

/** `scaling [AGENT]`: how many instances agents need, and first of all why (R35). */
export function addScaling(program: Command, { run, io }: CliContext): void {
  program
    .command('scaling')
    .description('how many instances each agent needs, and why')
    .argument('[agent]', 'this agent only: NAME or NAME#VERSION')
    .addHelpText('after', EXAMPLES)
    .action((agent: string | undefined, _options: object, command: Command) =>
      run(command, async ({ client, print }) => {
        const ref = agent === undefined ? undefined : parseAgentRef(agent);
        const hints = await client.scalingHints({ agent: ref?.name, signal: io.signal });
        const items = ref?.version === undefined ? hints : hintsOf(ref, hints);
        print({ items }, () => renderScaling(items, io));
      }),
    );
}

/** Hints are of versions with instances or traffic. @throws ReachError `version_not_found` */
function hintsOf(ref: AgentRef, hints: readonly ScalingHint[]): ScalingHint[] {
  const own = hints.filter(({ agent_version }) => agent_version === ref.version);
  if (own.length > 0) return own;
  const known = hints.map(({ agent_version }) => agent_version);
  throw noSuchVersion(ref, known, 'version with instances or traffic');
}

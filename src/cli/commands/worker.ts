import type { Command } from 'commander';
import type { GlobalOptions } from '../session';
import { rootScript, spawnRoot } from '../spawn-root';

/** `worker`: workflows and activities without the API, for scaling out. */
export function addWorker(program: Command, outcome: { exitCode: number }): void {
  program
    .command('worker')
    .description('a worker without the API; run as many as the load asks for')
    .addHelpText('after', '\nExamples:\n  $ agent-reach worker --config agent-reach.yaml')
    .action(async (_options: unknown, command: Command) => {
      const { config } = command.optsWithGlobals<GlobalOptions>();
      outcome.exitCode = await spawnRoot(rootScript('worker'), config === undefined ? [] : ['--config', config]);
    });
}

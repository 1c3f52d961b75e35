import type { Command } from 'commander';
import { parsePort } from '../parse';
import type { GlobalOptions } from '../session';
import { rootScript, spawnRoot } from '../spawn-root';

interface GatewayOptions extends GlobalOptions {
  port?: number;
  worker: boolean;
}

/** `gateway`: the API, with a worker inside unless told otherwise. */
export function addGateway(program: Command, outcome: { exitCode: number }): void {
  program
    .command('gateway')
    .description('the gateway beside a Temporal and an etcd that run already, with a worker inside')
    .option('--port <port>', 'overrides server.port', parsePort)
    .option('--no-worker', 'only the API; run `agent-reach worker` elsewhere')
    .addHelpText(
      'after',
      '\nExamples:\n  $ agent-reach gateway --config agent-reach.yaml\n  $ agent-reach gateway --config agent-reach.yaml --no-worker',
    )
    .action(async (_options: unknown, command: Command) => {
      const { port, worker, config } = command.optsWithGlobals<GatewayOptions>();
      const args: string[] = [];
      if (config !== undefined) args.push('--config', config);
      if (port !== undefined) args.push('--port', String(port));
      if (!worker) args.push('--no-worker');
      outcome.exitCode = await spawnRoot(rootScript('gateway'), args);
    });
}

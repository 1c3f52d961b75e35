import type { Command } from 'commander';
import { parsePort } from '../parse';
import type { GlobalOptions } from '../session';
import { rootScript, spawnRoot } from '../spawn-root';

/** What the command line says. */
interface DevOptions extends GlobalOptions {
  port?: number;
  dataDir: string;
  withExamples?: boolean;
}

/** `dev`: engines, gateway and worker in one process tree. */
export function addDev(program: Command, outcome: { exitCode: number }): void {
  program
    .command('dev')
    .description(
      'everything on this machine: Temporal, etcd, embeddings, gateway and worker; prints `ready URL` when it answers',
    )
    .option(
      '--port <port>',
      'port of the gateway; 0 takes a free one (default: AGENT_REACH_PORT, server.port of the file, else 8080)',
      parsePort,
    )
    .option('--data-dir <dir>', 'where the engines keep their data', '.agent-reach')
    .option('--with-examples', 'also run the four agents of the ticket desk')
    .addHelpText(
      'after',
      '\nExamples:\n  $ agent-reach dev\n  $ agent-reach dev --port 0 --data-dir /tmp/reach --with-examples',
    )
    .action(async (_options: unknown, command: Command) => {
      outcome.exitCode = await spawnRoot(rootScript('dev'), devArguments(command.optsWithGlobals<DevOptions>()));
    });
}

/** The arguments of the root. It gets a port only if the command line has one: a default would win over file and environment. */
export function devArguments({ port, dataDir, withExamples, config }: DevOptions): string[] {
  const args = ['--data-dir', dataDir];
  if (port !== undefined) args.push('--port', String(port));
  if (withExamples) args.push('--with-examples');
  if (config !== undefined) args.push('--config', config);
  return args;
}

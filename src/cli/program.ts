import { Command } from 'commander';
import { VERSION } from '../protocol/version';
import { addAbilities } from './commands/abilities';
import { addAgents } from './commands/agents';
import { addBreakers } from './commands/breakers';
import { addCallbacks } from './commands/callbacks';
import { addCancel } from './commands/cancel';
import { addContext } from './commands/context';
import { addDeadLetters } from './commands/dead-letters';
import { addDecisions } from './commands/decisions';
import { addDev } from './commands/dev';
import { addDoctor } from './commands/doctor';
import { addGateway } from './commands/gateway';
import { addGet } from './commands/get';
import { addInvoke } from './commands/invoke';
import { addList } from './commands/list';
import { addPublish } from './commands/publish';
import { addRecover } from './commands/recover';
import { addRegister } from './commands/register';
import { addRoute } from './commands/route';
import { addRoutes } from './commands/routes';
import { addScaling } from './commands/scaling';
import { addSend } from './commands/send';
import { addSubscriptions } from './commands/subscriptions';
import { addTrace } from './commands/trace';
import { addUnregister } from './commands/unregister';
import { addWatch } from './commands/watch';
import { addWorker } from './commands/worker';
import type { CliIo } from './io';
import { withSession, type CliContext } from './session';

const EXAMPLES = `
Examples:
  $ agent-reach dev --with-examples                 everything on this machine, with four agents to talk to
  $ agent-reach register agents/echo.yaml           make an agent known
  $ agent-reach invoke echo -p '{"text":"hello"}'   ask for an ability and wait for the answer
  $ agent-reach route refund -p @ticket.json        who would get it, and why
  $ agent-reach trace REACH_ID                      what happened, hop by hop

Environment:
  AGENT_REACH_URL       the gateway, default http://127.0.0.1:8080
  AGENT_REACH_API_KEY   sent as a bearer token
  NO_COLOR              no colours

Exit codes: 0 ok, 1 the reach failed, the doctor found an error, or an answer could not be written, 2 usage, 3 the platform cannot be reached.
A reader that leaves early, such as head, changes no exit code.`;

/** The whole command line. `outcome` receives the exit code of the command that ran. */
export function buildProgram(io: CliIo, outcome: { exitCode: number }): Command {
  const program = new Command('agent-reach')
    .description('AI agents find each other by ability and get work done through each other, reliably.')
    .version(VERSION, '-V, --version')
    .option('--url <url>', 'the gateway (AGENT_REACH_URL)')
    .option(
      '--api-key <key>',
      'who is asking; `ps` shows it to everybody on this machine, so prefer AGENT_REACH_API_KEY',
    )
    .option('--config <file>', 'agent-reach.yaml; for client commands it says where the gateway listens')
    .option('--json', 'print JSON on stdout and nothing else')
    .addHelpText('after', EXAMPLES)
    .showHelpAfterError('(add --help for what there is)')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => io.out(text),
      writeErr: (text) => io.err(text),
      getOutHelpWidth: () => io.columns ?? 100,
    })
    .exitOverride();
  const run: CliContext['run'] = async (command, work) => {
    outcome.exitCode = await withSession(command, io, work);
  };
  const context: CliContext = { io, run };
  program.commandsGroup('Run it:');
  for (const add of [addDev, addGateway, addWorker]) add(program, outcome);
  addDoctor(program, context);
  program.commandsGroup('Agents and routing:');
  for (const add of [
    addRegister,
    addUnregister,
    addAgents,
    addAbilities,
    addRoute,
    addRoutes,
    addDecisions,
    addBreakers,
    addScaling,
  ])
    add(program, context);
  program.commandsGroup('Reaches:');
  for (const add of [addInvoke, addSend, addGet, addList, addTrace, addWatch, addCancel, addCallbacks])
    add(program, context);
  program.commandsGroup('Shared contexts:');
  addContext(program, context);
  program.commandsGroup('Events:');
  for (const add of [addPublish, addSubscriptions]) add(program, context);
  program.commandsGroup('Dead letters:');
  for (const add of [addDeadLetters, addRecover]) add(program, context);
  return program;
}

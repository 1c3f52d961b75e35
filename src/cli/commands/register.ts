import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { ReachError } from '../../protocol/reach-error';
import type { RegistrationView } from '../../sdk/wire-types';
import { EXIT, exitCodeOf, UsageError } from '../exit-codes';
import type { CliIo } from '../io';
import { jsonText, printable } from '../printable';
import { renderError } from '../render/error';
import { agentOf } from '../render/text';
import type { CliContext, Session } from '../session';

interface RegisterOptions {
  dryRun?: boolean;
  replace?: boolean;
}

/** `register FILE…`: descriptors, each on its own; one bad file does not keep the others out. */
export function addRegister(program: Command, { run }: CliContext): void {
  program
    .command('register')
    .description('register descriptors, YAML or JSON; the same content again changes nothing')
    .argument('<file...>', 'descriptor files; - is stdin')
    .option('--dry-run', 'check only, register nothing')
    .option('--replace', 'replace a version that is registered with other content')
    .addHelpText(
      'after',
      '\nExamples:\n  $ agent-reach register agents/*.yaml\n  $ agent-reach register --dry-run echo.yaml\n  $ generate-descriptor | agent-reach register -',
    )
    .action((files: string[], options: RegisterOptions, command: Command) =>
      run(command, (session) => register(session, files, options)),
    );
}

/** One file's outcome as `--json` prints it. */
type Outcome = { file: string } & (RegistrationView | { error: object });

async function register(session: Session, files: readonly string[], options: RegisterOptions): Promise<void> {
  const outcomes: Outcome[] = [];
  // What cannot be read is wrong usage, and nothing is sent then.
  const texts: { file: string; text: string }[] = [];
  for (const file of files) texts.push({ file, text: await readText(file, session.io) });
  for (const { file, text } of texts) {
    try {
      const answer = await session.client.registerDescriptor(text, options);
      outcomes.push({ file, ...answer });
      if (!session.json) session.io.out(renderRegistration(answer, session.io));
    } catch (caught) {
      const error = ReachError.from(caught);
      session.exitCode = Math.max(session.exitCode, exitCodeOf(error), EXIT.failed);
      outcomes.push({ file, error: error.toProblem() });
      session.io.err(
        `${session.io.errColor.bold(printable(file))}\n${renderError(error, session.io.errColor, session.io.errColumns)}`,
      );
    }
  }
  if (session.json) session.io.out(`${jsonText(outcomes)}\n`);
}

async function readText(file: string, io: CliIo): Promise<string> {
  if (file === '-') return io.readStdin();
  try {
    return readFileSync(file, 'utf8');
  } catch {
    throw new UsageError(`the descriptor ${file} cannot be read`);
  }
}

function renderRegistration(answer: RegistrationView, { color }: CliIo): string {
  const outcome = answer.dry_run ? `would be ${answer.outcome}` : answer.outcome;
  const lines = [`${color.green('✓')} ${color.bold(agentOf(answer.name, answer.version))}  ${outcome}`];
  for (const warning of answer.warnings) lines.push(`  ${color.yellow('!')} ${warning}`);
  return `${lines.join('\n')}\n`;
}

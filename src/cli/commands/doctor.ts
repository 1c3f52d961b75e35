import type { Command } from 'commander';
import { countSeverities, type DoctorReport } from '../../protocol/doctor';
import { offlineFindings } from '../doctor/offline';
import { askGateway } from '../doctor/online';
import { EXIT } from '../exit-codes';
import { renderDoctor } from '../render/doctor';
import type { CliContext, GlobalOptions, Session } from '../session';

interface DoctorOptions {
  offline?: boolean;
  all?: boolean;
}

const EXAMPLES = `
Exit codes: 0 nothing worse than a warning, 1 at least one error, 2 usage, 3 the gateway cannot be reached.

Examples:
  $ agent-reach doctor                                        everything that a gateway sees
  $ agent-reach doctor --all                                  also what is well
  $ agent-reach doctor --json | jq '.findings[] | select(.severity == "error")'
  $ agent-reach doctor --offline --config agent-reach.yaml agents/*.yaml      files alone, before they go out`;

/** `doctor [FILE…]`: what goes wrong quietly, why it matters and what to do (R39). */
export function addDoctor(program: Command, { run, io }: CliContext): void {
  program
    .command('doctor')
    .description('look for what goes wrong quietly: connections, health, names, weights, engines')
    .argument('[file...]', 'with --offline: descriptors to look at')
    .option('--offline', 'look at the configuration (--config) and at descriptors only; nothing is asked')
    .option('--all', 'also say what is well')
    .addHelpText('after', EXAMPLES)
    .action((files: string[], options: DoctorOptions, command: Command) =>
      run(command, async (session) => {
        const { config } = command.optsWithGlobals<GlobalOptions>();
        const report = options.offline
          ? offline(await offlineFindings({ files, config, io }))
          : await askGateway(session);
        conclude(session, report, options);
      }),
    );
}

function offline(findings: DoctorReport['findings']): DoctorReport {
  return { checked_at: new Date().toISOString(), findings, counts: countSeverities(findings) };
}

function conclude(session: Session, report: DoctorReport, { all = false }: DoctorOptions): void {
  if (report.counts.error > 0) session.exitCode = EXIT.failed;
  session.print(report, () => renderDoctor(report, session.io, all));
}

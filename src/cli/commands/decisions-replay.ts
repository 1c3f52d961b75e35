import { performance } from 'node:perf_hooks';
import type { Command } from 'commander';
import type { DecisionFilter, ReplayChanges, ReplayReport } from '../../sdk/decisions';
import { addChangeOptions, changesOf, type ChangeOptions } from '../decisions/changes';
import { readExport } from '../decisions/export-file';
import { addFilterOptions, filterOf } from '../decisions/filter';
import { UsageError } from '../exit-codes';
import { parseWhole } from '../parse';
import { printable, printableAnswers } from '../printable';
import { renderReplay } from '../render/replay';
import type { CliContext, Session } from '../session';

interface ReplayOptions extends DecisionFilter, ChangeOptions {
  file?: string;
  limit: number;
}

const EXAMPLES = `
Examples:
  $ agent-reach decisions replay --since 1h --weights semantic_similarity=0.4,latency_score=0.4
  $ agent-reach decisions replay --routes routes.json --ability refund_progress
  $ agent-reach decisions replay --breaker refund_agent=open
  $ agent-reach decisions replay --file decisions.jsonl.gz --without refund_agent    without any platform`;

/** `decisions replay`: at the gateway, or here from an export. */
export function addReplay(group: Command, { run }: CliContext): void {
  const command = group
    .command('replay')
    .description('decide again under other weights, breakers, routes, agents or another model, and say what changes')
    .option('--file <file>', 'an export; then nothing else is needed, not even a running platform');
  addFilterOptions(addChangeOptions(command))
    .option('--limit <n>', 'changed decisions that are listed', (text) => parseWhole(text, 0, 1_000), 20)
    .addHelpText('after', EXAMPLES)
    .action((options: ReplayOptions, self: Command) =>
      run(self, async (session) => {
        const changes = changesOf(options);
        const report =
          options.file === undefined
            ? await atGateway(session, changes, options)
            : await here(session, changes, { ...options, file: options.file });
        session.print(report, () => renderReplay(printable(report), session.io));
      }),
    );
}

function atGateway(
  { client, json, io }: Session,
  changes: ReplayChanges,
  { limit, ...filter }: ReplayOptions,
): Promise<ReplayReport> {
  const decisions = json ? client.decisions : printableAnswers(client.decisions);
  return decisions.replay({ filter: filterOf(filter), changes, limit }, { signal: io.signal });
}

/** Reads the file as it goes: an export may be larger than memory. */
async function here(
  { io }: Session,
  changes: ReplayChanges,
  { file, limit, ...options }: ReplayOptions & { file: string },
): Promise<ReplayReport> {
  if (Object.keys(filterOf(options)).length > 0)
    throw new UsageError('with --file everything in it is replayed: give the filters to agent-reach decisions export');
  if (changes.embeddings)
    throw new UsageError('another model needs the embedding endpoint of a gateway: leave --file out');
  const { prepareChanges, replayAll } = await import('../../routing/replay');
  const startedMs = performance.now();
  const report = await replayAll(readExport(file), {
    changes: prepareChanges(changes),
    limit,
    cut: () => (io.signal.aborted ? 'interrupted' : undefined),
  });
  const perSec = Math.round((report.decisions / (performance.now() - startedMs)) * 1_000);
  io.err(io.errColor.dim(`${report.decisions} decisions replayed, ${perSec} a second\n`));
  return report;
}

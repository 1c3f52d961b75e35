/**
 * `npm run demo`: starts Agent-Reach with the four agents of the ticket desk, dispatches tickets to whoever fits, shows
 * who got what and why, and stops everything again. Exit code: 0; 1 when a reach failed; 2 for bad usage; 130 and the like
 * after a signal.
 */
import { constants } from 'node:os';
import { AgentReachClient } from '../../src/sdk/client'; // in a project of your own: from 'agent-reach/client'
import { dispatch, meaningIsReady } from './demo/dispatch';
import { mostTelling } from './demo/explain';
import { readOptions, USAGE, type DemoOptions } from './demo/options';
import { DemoPlatform, type Links } from './demo/platform';
import { note, step, ticketProgress } from './demo/progress';
import { json, page, type Report } from './demo/report';
import { colorsFor } from './demo/text';
import { readTickets, type DeskTicket } from './demo/tickets';
import { deskFile } from './support/start';

/** Where standard output is no terminal. */
const DEFAULT_WIDTH = 140;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

type RunOptions = DemoOptions & { tickets: DeskTicket[]; signal: AbortSignal };

/** Set once everything is shown: with `--keep` a signal is then the ordinary end. */
let codeAtSignal: number | undefined;

async function main(): Promise<number> {
  const asked = readRequest();
  if (typeof asked === 'number') return asked;
  const { signal, interrupted } = untilSignal();
  const platform = new DemoPlatform();
  const shown = show(platform, { ...asked, signal });
  try {
    return await Promise.race([shown, platform.ended(), interrupted]);
  } finally {
    await step('Stopping everything', () => platform.stop());
  }
}

/** The options with the tickets, or the exit code when there is nothing to run. */
function readRequest(): (DemoOptions & { tickets: DeskTicket[] }) | number {
  try {
    const options = readOptions(process.argv.slice(2));
    if (options) return { ...options, tickets: readTickets(options.ticketsFile ?? deskFile('tickets.jsonl')) };
    process.stdout.write(USAGE);
    return 0;
  } catch (error) {
    process.stderr.write(`demo: ${(error as Error).message}; --help tells more\n`);
    return 2;
  }
}

async function show(platform: DemoPlatform, options: RunOptions): Promise<number> {
  const title = 'Starting Temporal, etcd, embeddings, the gateway and four agents';
  const links = await step(title, () => platform.ready());
  note(`  gateway ${links.gateway}`);
  const reach = new AgentReachClient({ url: links.gateway });
  try {
    const report = await run(reach, links, options);
    print(report, options.json);
    const code = report.outcomes.some(({ failed }) => failed) ? 1 : 0;
    if (options.keep) await keepUp(options.signal, code);
    return code;
  } finally {
    await reach.close();
  }
}

async function run(reach: AgentReachClient, links: Links, options: RunOptions): Promise<Report> {
  const { signal, concurrency, tickets } = options;
  const byMeaning = await step('Learning what the agents’ descriptions mean', () => meaningIsReady(reach, signal));
  if (!byMeaning) note('  no embeddings: routing compares wording, and gets fewer tickets right');
  const outcomes = await step(`Dispatching ${tickets.length} tickets`, () => {
    const progress = ticketProgress(tickets.length);
    return dispatch(reach, tickets, { concurrency, signal, onDone: progress.done }).finally(progress.stop);
  });
  const explained = mostTelling(outcomes);
  const id = explained?.answered.reachId;
  const trace = id === undefined ? undefined : await reach.trace(id, { signal }).catch(() => undefined);
  return { outcomes, explained, trace, links };
}

function print(report: Report, asJson: boolean): void {
  const canvas = { width: process.stdout.columns ?? DEFAULT_WIDTH, colors: colorsFor(process.stdout) };
  process.stdout.write(asJson ? `${JSON.stringify(json(report), null, 2)}\n` : `\n${page(report, canvas)}\n`);
}

/** Until a signal, which from now on is the ordinary end. */
function keepUp(signal: AbortSignal, code: number): Promise<void> {
  note('Stays up; Ctrl-C stops it.');
  codeAtSignal = code;
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/** Aborts at the first signal, or when nobody reads the output any more; a second one ends the demo at once. */
function untilSignal(): { signal: AbortSignal; interrupted: Promise<number> } {
  const controller = new AbortController();
  const interrupted = new Promise<number>((resolve) => {
    const stop = (code: number) => {
      if (controller.signal.aborted) process.exit(code); // the platform sees our end and stops by itself
      resolve(codeAtSignal ?? code);
      controller.abort();
    };
    for (const name of SIGNALS) process.on(name, () => stop(128 + constants.signals[name]));
    process.stdout.on('error', () => stop(1));
  });
  return { signal: controller.signal, interrupted };
}

main().then(
  (code) => process.exit(code),
  (error: Error) => {
    process.stderr.write(`demo: ${error.message}\n`);
    process.exit(1);
  },
);

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

const DEFAULT_WIDTH = 140;

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  if (!options) return process.stdout.write(USAGE) ? 0 : 0;
  const tickets = readTickets(options.ticketsFile ?? deskFile('tickets.jsonl'));
  const { signal, exitCode } = untilSignal();
  const platform = new DemoPlatform();
  try {
    return await Promise.race([show(platform, tickets, { ...options, signal }), platform.ended(), exitCode]);
  } finally {
    await step('Stopping everything', () => platform.stop());
  }
}

async function show(
  platform: DemoPlatform,
  tickets: DeskTicket[],
  options: DemoOptions & { signal: AbortSignal },
): Promise<number> {
  const links = await step('Starting Temporal, etcd, embeddings, the gateway and four agents', () => platform.ready());
  note(`  gateway ${links.gateway}`);
  const reach = new AgentReachClient({ url: links.gateway });
  try {
    const report = await run(reach, tickets, { ...options, links });
    process.stdout.write(
      options.json
        ? `${JSON.stringify(json(report), null, 2)}\n`
        : page(report, { width: process.stdout.columns ?? DEFAULT_WIDTH, colors: colorsFor(process.stdout) }),
    );
    if (options.keep) await keepUp(options.signal);
    return report.outcomes.some(({ failed }) => failed) ? 1 : 0;
  } finally {
    await reach.close();
  }
}

async function run(
  reach: AgentReachClient,
  tickets: DeskTicket[],
  options: DemoOptions & { signal: AbortSignal; links: Links },
): Promise<Report> {
  const { signal, concurrency, links } = options;
  const byMeaning = await step('Learning what the agents’ descriptions mean', () => meaningIsReady(reach, signal));
  if (!byMeaning) note('  no embeddings: routing compares wording, and gets fewer tickets right');
  const progress = ticketProgress(tickets.length);
  const outcomes = await step(`Dispatching ${tickets.length} tickets`, () =>
    dispatch(reach, tickets, { concurrency, signal, onDone: progress.done }).finally(progress.stop),
  );
  const explained = mostTelling(outcomes);
  const trace =
    explained?.answered && (await reach.trace(explained.answered.reachId, { signal }).catch(() => undefined));
  return { outcomes, explained, trace, links };
}

function keepUp(signal: AbortSignal): Promise<void> {
  note('\nStays up; Ctrl-C stops it.');
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/** Aborts at the first signal, or when nobody reads the output any more; a second signal ends the demo at once. */
function untilSignal(): { signal: AbortSignal; exitCode: Promise<number> } {
  const controller = new AbortController();
  const exitCode = new Promise<number>((resolve) => {
    const stop = (code: number) => {
      if (controller.signal.aborted) process.exit(code); // the platform sees our end and stops by itself
      controller.abort();
      resolve(code);
    };
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.on(name, () => stop(128 + constants.signals[name]));
    process.stdout.on('error', () => stop(1));
  });
  return { signal: controller.signal, exitCode };
}

main().then(
  (code) => process.exit(code),
  (error: Error) => {
    process.stderr.write(`demo: ${error.message}\n`);
    process.exit(error.message.startsWith('--') || 'code' in error ? 2 : 1);
  },
);

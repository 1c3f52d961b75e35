/**
 * `npm run demo:ticket`: three agents work on one ticket, together. First it is cancelled half-way, and everything that was made
 * for it ends; then it runs to its end: nested reaches, a shared context that two write at once, an event to two subscribers, and
 * a signed callback to somebody outside. Exit code: 0 when all of it happened.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { AgentReachClient } from '../../src/sdk/client'; // in a project of your own: from 'agent-reach/client'
import { DemoPlatform } from '../ticket-desk/demo/platform';
import { note, step } from '../ticket-desk/demo/progress';
import { colorsFor } from '../ticket-desk/demo/text';
import { caseAgent } from './case-agent';
import { Meeting } from './desk';
import { evidenceAgent } from './evidence-agent';
import { letterAgent } from './letter-agent';
import { Receiver } from './receiver';
import { flat, linesOf, treeOf, type Branch } from './tree';

const SUBSCRIPTIONS = { archive: 'archive_case', survey: 'ask_for_feedback' };
const PATIENCE_MS = 20_000;

const colors = colorsFor(process.stdout);
const notice = (line: string) => note(`  · ${line}`);
const print = (line = '') => process.stdout.write(`${line}\n`);

async function main(): Promise<void> {
  const platform = new DemoPlatform([]);
  const closers: (() => Promise<unknown> | void)[] = [() => platform.stop()];
  const interrupted = new Promise<never>((_, reject) => {
    for (const name of ['SIGINT', 'SIGTERM'] as const)
      process.once(name, () => reject(new Error(`stopped by ${name}`)));
  });
  try {
    await Promise.race([run(platform, closers), platform.ended(), interrupted]);
  } finally {
    await step('Stopping everything', async () => {
      for (const close of closers.reverse()) await close();
    });
  }
}

async function run(platform: DemoPlatform, closers: (() => Promise<unknown> | void)[]): Promise<void> {
  const links = await step('Starting Temporal, etcd and the gateway', () => platform.ready());
  const reach = new AgentReachClient({ url: links.gateway });
  closers.push(() => reach.close());
  const archive: string[] = [];
  const surveys: string[] = [];
  const both = new Meeting();
  const agents = [
    caseAgent(links.gateway, { reach, notice }),
    evidenceAgent(links.gateway, { notice, archive, both }),
    letterAgent(links.gateway, { notice, surveys, both }),
  ];
  await step('Starting three agents, and two subscriptions to cases.closed', async () => {
    await Promise.all(agents.map((agent) => agent.start()));
    for (const [id, ability] of Object.entries(SUBSCRIPTIONS))
      await reach.subscriptions.put(id, { topic: 'cases.*', ability });
  });
  closers.push(() => Promise.all(agents.map((agent) => agent.stop())));

  await cancelled(reach);
  await toTheEnd(reach, { archive, surveys, closers });
  print();
  print(`The same in the Temporal Web UI: ${links.temporal} (ReachParent = a reach's id lists what was made for it)`);
}

/** The inquiries would take minutes: cancelling the ticket ends them too. */
async function cancelled(reach: AgentReachClient): Promise<void> {
  const tree = await step('A ticket that is cancelled half-way', async () => {
    const { reach_id } = await send(reach, 'T-1', { evidence_takes_ms: 120_000 });
    await until('two inquiries', async () => (await treeOf(reach, reach_id)).children.length === 2);
    notice('somebody cancels it');
    await reach.cancel(reach_id);
    await reach.get(reach_id, { waitSec: 20 });
    return until('the end of all', async () => {
      const whole = await treeOf(reach, reach_id);
      return flat(whole).every(({ status }) => status === 'cancelled') && whole;
    });
  });
  print(`\n${colors.bold('Cancelled half-way')}`);
  show(tree);
}

async function toTheEnd(
  reach: AgentReachClient,
  desk: { archive: string[]; surveys: string[]; closers: (() => void)[] },
): Promise<void> {
  const { secret } = await reach.callbacks.secret();
  if (secret === undefined) throw new Error('The callback secret is configured; this scenario needs a generated one');
  const receiver = await Receiver.listen(secret);
  desk.closers.push(() => receiver.close());
  const { tree, heard } = await step('A ticket that runs to its end', async () => {
    const { reach_id } = await send(reach, 'T-2', {}, receiver.url);
    await reach.wait(reach_id, { timeoutMs: PATIENCE_MS });
    const heard = await inTime('the callback', receiver.heard());
    notice(`the receiver has a callback ${heard.type}, and its signature verifies`);
    await until('both subscribers', () => desk.archive.includes('T-2') && desk.surveys.includes('T-2'));
    return { heard, tree: await treeOf(reach, reach_id) };
  });
  print(`\n${colors.bold('Run to its end')}`);
  show(tree);
  const { fields } = await reach.context('ticket-T-2').get();
  print('\nIts context');
  for (const [name, { value, version }] of Object.entries(fields))
    print(`  ${name.padEnd(10)} ${colors.dim(`v${version}`)}  ${JSON.stringify(value)}`);
  print(`\nCallback ${heard.id}: ${heard.type}, verified`);
  if (flat(tree).length !== 5) throw new Error(`Expected one tree of five reaches, found ${flat(tree).length}`);
  if (fields.liability?.value !== 0.6) throw new Error('One of two writers was overwritten');
}

function send(reach: AgentReachClient, ticketId: string, more: object, callback?: string) {
  return reach.send({
    ability: 'close_case',
    payload: { ticket_id: ticketId, complaint: 'The cup arrived broken', ...more },
    context_id: `ticket-${ticketId}`,
    timeout_ms: 180_000,
    ...(callback !== undefined && { callback: { url: callback } }),
  });
}

function show(tree: Branch): void {
  const paint = (status: string) => (status === 'completed' ? colors.green(status) : colors.yellow(status));
  for (const line of linesOf(tree, paint)) print(`  ${line}`);
}

async function until<T>(what: string, check: () => Promise<T | false> | T | false): Promise<T> {
  for (const end = performance.now() + PATIENCE_MS; performance.now() < end; await delay(100)) {
    const found = await check();
    if (found) return found;
  }
  throw new Error(`${what} did not come within ${PATIENCE_MS / 1000} s`);
}

async function inTime<T>(what: string, work: Promise<T>): Promise<T> {
  const late = delay(PATIENCE_MS, undefined, { ref: false }).then(() => {
    throw new Error(`${what} did not come within ${PATIENCE_MS / 1000} s`);
  });
  return Promise.race([work, late]);
}

main().then(
  () => process.exit(0),
  (error: Error) => {
    process.stderr.write(`demo:ticket: ${error.message}\n`);
    process.exit(1);
  },
);

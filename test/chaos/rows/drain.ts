import type { DeliverySemantics } from '../../../src/protocol/shapes';
import type { Run } from '../checker/facts';
import type { Act } from '../harness/act';
import type { Sent } from '../harness/caller';
import type { Load } from '../harness/load';
import type { RootProcess } from '../harness/root-process';
import { eventually } from '../harness/waiting';

/** What rows that drain give their processes: the default of the product. */
export const GRACEFUL = { server: { graceful_timeout: '15s' } };
/** The same, with what closing connections takes. */
const GRACE_MS = 15_000 + 4_000;
/** Work that is in hand while its process is told to stop: longer than the signal takes to arrive, shorter than the grace. */
const IN_HAND_WORK_MS = 3_000;
const MOST_IN_HAND = 12;
const ENOUGH_IN_HAND = 6;
const LEAST_IN_HAND = 3;
const IN_HAND: readonly DeliverySemantics[] = ['at_most_once', 'at_least_once', 'exactly_once'];
/**
 * A connection that was made in the moment in which the port was closed is reset by the kernel, and no process has read what was sent: no
 * server can help that. Whatever was on its way for longer than this was in hand, ms.
 */
const UNREAD_MS = 250;

/** What is in hand of one gateway and of the workers: the agents have it, and callers wait for the answers. */
export interface InHand {
  load: Load;
  /** Notes what was not answered, by the same process and at the first try. */
  judge(): Promise<void>;
}

/** Sends what will be in hand, and waits until the agents have it. `gateway`: the URL of the one that answers the callers. */
export async function takeInHand(
  act: Act,
  { abilities, gateway, prefix }: { abilities: readonly string[]; gateway: string; prefix: string },
): Promise<InHand> {
  const caller = act.caller(0, [gateway]);
  const messages = Array.from({ length: MOST_IN_HAND }, (_, index) =>
    act.message(abilities[index % abilities.length]!, `${prefix}-${index}`, {
      semantics: IN_HAND[index % IN_HAND.length]!,
      waitSec: 20,
      script: { plan: [], work_ms: IN_HAND_WORK_MS, tag: `${prefix}-${index}` },
    }),
  );
  const keys = new Set(messages.map(({ key }) => key));
  const load: Load = { planned: messages.length, sent: [], done: Promise.resolve() };
  const sending = Promise.all(messages.map((message) => caller.send(message).then((sent) => load.sent.push(sent))));
  load.done = sending.then(() => undefined);
  const open = () =>
    act.stage.agents.journal(abilities).filter(({ key, left_ms }) => keys.has(key) && left_ms === null);
  // On a slow machine the first are done before the last have come.
  await eventually(() => open().length >= ENOUGH_IN_HAND, { limitMs: 10_000, everyMs: 20 });
  const inHand = new Set(open().map(({ key }) => key));
  act.expect(inHand.size >= LEAST_IN_HAND, `${prefix}: only ${inHand.size} calls are in hand, which proves little`);
  const judge = async () => {
    await sending;
    const lost = load.sent.filter((sent) => inHand.has(sent.message.key) && !isAnswered(sent));
    act.expect(lost.length === 0, `${prefix}: of ${inHand.size} requests in hand ${lost.length} were ${storyOf(lost)}`);
  };
  return { load, judge };
}

function isAnswered({ receipt, tries }: Sent): boolean {
  return tries === 1 && receipt?.reach_status === 'completed';
}

function storyOf(lost: readonly Sent[]): string {
  const stories = lost.map(
    ({ setbacks, unansweredMs, receipt }) =>
      [setbacks[0], ...unansweredMs.map((ms) => `after ${ms} ms`)].filter(Boolean).join(' ') ||
      `answered as ${receipt?.reach_status ?? 'nothing'}`,
  );
  return [...new Set(stories)].join(', ');
}

/** SIGTERM: it must end with 0 within its grace, and is started again. */
export async function replaced(act: Act, root: RootProcess, what: string): Promise<void> {
  act.say(`replacing ${what}`);
  const startedMs = performance.now();
  const code = await root.kill('SIGTERM');
  const tookMs = performance.now() - startedMs;
  act.expect(code === 0, `${what} ended with ${code ?? 'a signal'} after SIGTERM`);
  act.expect(tookMs < GRACE_MS, `${what} took ${Math.round(tookMs)} ms to drain`);
  await root.whenReady();
}

/** Nothing that a process had accepted may be dropped by it: no call is lost with a worker, no request with a gateway. */
export function nothingDropped(act: Act, runs: readonly Run[], sent: readonly Sent[]): void {
  const lost = runs.flatMap(({ attempts }) => attempts ?? []).filter(({ code }) => code === 'worker_lost').length;
  act.expect(lost === 0, `${lost} attempts were lost with a worker that was told to stop (worker_lost)`);
  const unknown = runs.filter(({ status }) => status === 'outcome_unknown').length;
  act.expect(unknown === 0, `${unknown} reaches ended outcome_unknown although every worker was told to stop in order`);
  const cut = sent.flatMap(({ unansweredMs }) => unansweredMs);
  const inHand = cut.filter((afterMs) => afterMs > UNREAD_MS);
  act.expect(inHand.length === 0, `requests in hand were cut off after ${inHand.join(', ')} ms`);
  act.notes.push(`${cut.length - inHand.length} requests met the closing of a port`);
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { DescriptorDraft } from '../../../src/protocol/descriptor';
import { describeKeyViolation, judgeKeys, type KeyStory, type Told } from '../checker/exactly-once';
import type { Rule } from '../checker/facts';
import { grouped } from '../checker/index-of';
import type { Act } from '../harness/act';
import type { Message, Sent } from '../harness/caller';
import { http } from '../harness/http';
import { Ledger } from '../harness/ledger';
import type { Load } from '../harness/load';
import type { Scenario } from '../harness/scenario';
import { AgentInstance } from '../harness/agent-instance';
import { sendAs, type Address } from '../harness/senders';
import { readStories, textOf } from '../harness/store-journal';
import { eventually, inParallel } from '../harness/waiting';
import { isReady } from './leased-instance';

/** Instances of each agent: what one was killed with is another's to do. */
const INSTANCES = 2;
/** An attempt is given up after so long, while its handler goes on, ms. */
const ATTEMPT_MS = 2_000;
/** The first attempt of one key in so many outlives the next one. */
const SLOW_EVERY = 5;
/** For how long keys are sent: all faults come while they are. */
const SENDING_MS = 12_000;
/** Share of the deliveries that come when the work should be done. */
const LATE_SHARE = 0.3;
const LATE_MS = 7_000;

/** Every result had its own work: not so where agents remember what they have done. {@link judgeKeys} judges these by the key. */
const JUDGED_BY_KEY: readonly Rule[] = [
  'two_reaches_of_one_key',
  'replayed_untrue',
  'attempt_never_seen',
  'acknowledged_before_work',
  'result_never_produced',
  'stale_result',
];

/**
 * Agents of the SDK deduplicate in the platform's store while etcd, workers and they themselves are killed in the middle of the work.
 * Each business key is sent by several senders, who name the agent differently, through both gateways: one result for all of them.
 */
export const exactlyOnce: Scenario = {
  row: 27,
  name: 'exactly once, by key, with the agent killed',
  floor: 0.8,
  // Whoever is killed again and again is no reason to stop asking: breakers have rows of their own.
  stage: { gateways: 2, workers: 2, config: { breaker: { enabled: false } } },
  async run(act) {
    const ledger = await Ledger.open();
    const instances: AgentInstance[] = [];
    try {
      const agents = [await sdkAgent(act, 'plain', instances, ledger), await sdkAgent(act, 'again', instances, ledger)];
      const { load, reaches } = startKeys(act, agents);
      await injectFaults(act, instances);
      await act.recovered();
      await act.settle(load);
      act.violations = act.violations.filter((text) => !JUDGED_BY_KEY.some((rule) => text.startsWith(`${rule} `)));
      if (act.violations.length === 0) act.evidence = null;
      judgeAddresses(act, reaches);
      const told = await readResults(act, load.sent);
      judge(act, readStories(act.stage.agents.file, agents, { effects: ledger.effects, told }), ledger);
    } finally {
      await Promise.all(instances.map((instance) => instance.kill()));
      await ledger.close();
    }
  },
};

/** Registers one, the second as idempotent: `exactly_once` deduplicates it all the same. */
async function sdkAgent(act: Act, name: string, instances: AgentInstance[], ledger: Ledger): Promise<string> {
  const endpoint = { timeout_ms: ATTEMPT_MS, max_retry: 10 };
  const agent = await act.agent(name, { address: null, endpoint, ...(name === 'again' && { idempotent: true }) });
  const [known] = await Promise.all(act.stage.urls.map((url) => http('GET', `${url}/v1/agents/${agent}`)));
  const [{ descriptor }] = known?.body.versions as [{ descriptor: DescriptorDraft }];
  const parts = { journal: act.stage.agents.file, descriptor, ledger: ledger.url };
  const started = Array.from({ length: INSTANCES }, (_, index) =>
    AgentInstance.sdk({ ...parts, gateway: act.stage.urls[index % act.stage.urls.length]! }),
  );
  instances.push(...(await Promise.all(started)));
  const everywhere = async () => (await Promise.all(act.stage.urls.map((url) => isReady(url, agent)))).every(Boolean);
  if (!(await eventually(everywhere, { limitMs: 10_000 }))) throw new Error(`${agent} is not ready`);
  return agent;
}

/** One delivery: who sends it, when, and through which gateway first. */
interface Delivery {
  atMs: number;
  message: Message;
  address: Address;
  first: number;
}

/** Sends every key from two or three senders, some of them twice. */
function startKeys(act: Act, agents: readonly string[]): { load: Load; reaches: Map<string, Set<string>> } {
  const count = act.scaled(40);
  const plan = Array.from({ length: count }, (_, index) =>
    deliveriesOf(act, agents, { index, atMs: (index * SENDING_MS) / count }),
  ).flat();
  const sent: Sent[] = [];
  const reaches = new Map<string, Set<string>>();
  const { urls } = act.stage;
  const send = async ({ atMs, message, address, first }: Delivery) => {
    await sleep(atMs);
    const each = await sendAs(first === 0 ? urls : [...urls].reverse(), message, address);
    sent.push(each);
    const name = `${message.key} by ${address.source_agent}`;
    if (each.reachId !== null) reaches.set(name, (reaches.get(name) ?? new Set()).add(each.reachId));
  };
  const done = Promise.all(plan.map(send)).then(() => undefined);
  return { load: { planned: plan.length, sent, done }, reaches };
}

function deliveriesOf(
  act: Act,
  agents: readonly string[],
  { index, atMs }: { index: number; atMs: number },
): Delivery[] {
  const { random } = act;
  const agent = random.pick(agents);
  // What is declared idempotent is deduplicated under exactly_once only.
  const semantics = agent === agents[1] || random.chance(0.6) ? 'exactly_once' : 'at_least_once';
  const plan = index % SLOW_EVERY === 1 ? (['hang'] as const) : [];
  const work_ms = plan.length > 0 ? 1_500 : random.between(250, 800);
  const key = `key-${index}`;
  const script = { plan: [...plan], work_ms, tag: key };
  const addresses: Address[] = [
    { source_agent: 'sender-a', ability: agent },
    { source_agent: 'sender-b', target_agent: agent },
    { source_agent: 'sender-c', ability: agent, target_agent: agent },
  ];
  return addresses.slice(0, random.between(2, 3)).flatMap((address) => {
    // Most may wait for an instance where all were killed; some senders wait for the answer.
    const how = random.chance(0.7) ? ({ mode: 'async', waitSec: null } as const) : { waitSec: 20 };
    const message = act.message(agent, key, { semantics, script, timeoutMs: 60_000, ...how });
    const afterMs = random.chance(LATE_SHARE) ? LATE_MS : random.between(0, 400);
    const first = { atMs: atMs + afterMs, message, address, first: random.between(0, 1) };
    return random.chance(0.3)
      ? [first, { ...first, atMs: first.atMs + random.between(0, 200), first: 1 - first.first }]
      : [first];
  });
}

async function injectFaults(act: Act, instances: readonly AgentInstance[]): Promise<void> {
  const { stage, random } = act;
  const first = await killInstance(act, instances, 'got');
  act.say('killing a worker under an attempt');
  await firstOf(instances, 'got');
  await random.pick(stage.workers).kill('SIGKILL');
  act.say('killing etcd while results are on their way to it');
  await firstOf(instances, 'worked');
  stage.etcd.kill('SIGKILL');
  await stage.etcd.exited;
  await sleep(random.between(800, 1_800));
  await stage.etcd.restart();
  const second = await killInstance(act, instances, 'worked');
  await Promise.all([first.back, second.back, ...stage.workers.map((worker) => worker.whenReady())]);
}

/**
 * Whoever comes to it first: in the middle of a handler, or between its effect and the record of it. The promise inside is kept when it
 * has been started again.
 */
async function killInstance(
  act: Act,
  instances: readonly AgentInstance[],
  moment: 'got' | 'worked',
): Promise<{ back: Promise<void> }> {
  act.say(`killing an agent ${moment === 'got' ? 'in the middle of a handler' : 'that has not recorded its effect'}`);
  const victim = await firstOf(instances, moment);
  await victim?.kill();
  const back = victim?.restart() ?? Promise.resolve();
  back.catch(() => undefined);
  return { back };
}

async function firstOf(instances: readonly AgentInstance[], moment: 'got' | 'worked'): Promise<AgentInstance | null> {
  const waiting = instances.map(async (each) =>
    (await each.when(moment, 5_000)) ? each : Promise.reject(new Error()),
  );
  return Promise.any(waiting).catch(() => null);
}

/** A sender who names the agent in one way has one reach, whichever gateway was asked. */
function judgeAddresses(act: Act, reaches: ReadonlyMap<string, ReadonlySet<string>>): void {
  const split = [...reaches].filter(([, ids]) => ids.size > 1);
  const shown = split.map(([name, ids]) => `${name}: ${[...ids].join(', ')}`).slice(0, 5);
  act.expect(split.length === 0, `${split.length} senders have several reaches of one key: ${shown.join('; ')}`);
}

/** Every result, as each gateway tells it, by business key. */
async function readResults(act: Act, sent: readonly Sent[]): Promise<Map<string, Told[]>> {
  const keys = new Map(sent.flatMap(({ reachId, message }) => (reachId === null ? [] : [[reachId, message.key]])));
  const answers = await inParallel([...keys.keys()], 16, async (reach_id) => {
    const ofAll = await Promise.all(
      act.stage.urls.map(async (url, index) => {
        const answer = await http('GET', `${url}/v1/reaches/${reach_id}`);
        const output = answer?.body?.output as Record<string, unknown> | undefined;
        return output ? [{ reach_id, where: `GET at gateway ${index + 1}`, output: textOf(output) }] : [];
      }),
    );
    return ofAll.flat();
  });
  return grouped(answers.flat(), ({ reach_id }) => keys.get(reach_id)!);
}

function judge(act: Act, stories: readonly KeyStory[], ledger: Ledger): void {
  act.violations.push(...judgeKeys(stories).map(describeKeyViolation));
  const all = <T>(of: (story: KeyStory) => readonly T[]) => stories.flatMap(of);
  const begins = all(({ begins: each }) => each);
  const asks = [...begins, ...all(({ completes }) => completes)];
  const count = (answer: string | null) => asks.filter((ask) => ask.answer === answer).length;
  const cut = all(({ runs }) => runs).filter(({ output }) => output === null).length;
  const shared = stories.filter(({ told }) => new Set(told.map(({ reach_id }) => reach_id)).size > 1).length;
  const repeated = stories.filter(({ runs }) => runs.length > 1).length;
  const [done, overtaken, failed] = [
    begins.filter(({ answer }) => answer === 'done').length,
    count('superseded'),
    count('failed'),
  ];
  act.notes.push(
    `${stories.length} keys, ${shared} with results of several reaches; ${cut} handler runs were cut or refused, ${repeated} keys ran more than once`,
    `the store: ${done} answered from the record, ${overtaken} overtaken, ${failed} questions failed, ${count(null)} were never answered; the ledger refused ${ledger.refused}`,
  );
  act.expect(shared > 0, 'no key had results of several reaches');
  act.expect(cut > 0, 'no handler was cut: the kills hit nothing');
  act.expect(done > 0, 'nothing was answered from the record');
  act.expect(overtaken > 0, 'no attempt was overtaken by another');
  act.expect(failed > 0, 'etcd was killed, and no question to the store failed');
}

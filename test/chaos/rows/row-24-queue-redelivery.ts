import type { DescriptorDraft } from '../../../src/protocol/descriptor';
import { redisProgram, startRedis } from '../../contract/redis-server';
import type { JournalEntry } from '../checker/facts';
import type { Act } from '../harness/act';
import { http } from '../harness/http';
import { AgentInstance } from '../harness/agent-instance';
import type { Scenario } from '../harness/scenario';
import { eventually } from '../harness/waiting';
import { isReady } from './leased-instance';

/** Two consumers; one of them goes on while the other is killed. */
const CONSUMERS = 2;
/** A message is taken over after so long without a sign: a busy machine stalls, and that is no death, ms. */
const CLAIM_MS = 3_000;

/**
 * Agents that take their calls from a queue are killed before they acknowledge: when they have just received a call, or when its work is done and
 * its answer not sent. The queue gives what they had to others, under the same key, within the same attempt.
 */
export const queueRedelivery: Scenario = {
  row: 24,
  name: 'queue redelivery without acknowledgement',
  floor: 0.8,
  stage: { workers: 2 },
  missing: async () => (redisProgram() ? null : 'redis-server is not installed (Debian: apt-get install redis-server)'),
  async run(act) {
    const redis = await startRedis(redisProgram()!);
    const consumers: AgentInstance[] = [];
    try {
      const abilities = [await queueAgent(act, 'plain', redis.url), await queueAgent(act, 'idempotent', redis.url)];
      for (const ability of abilities) consumers.push(...(await startConsumers(act, ability)));
      const load = act.load({
        messages: act.scaled(200),
        overMs: 10_000 * Math.max(0.4, act.options.scale),
        abilities,
        semantics: ['at_least_once', 'at_least_once', 'at_least_once', 'at_most_once'],
        workMs: { from: 100, to: 1_500 },
        repeats: 0.1,
      });
      const kills = act.options.scale < 1 ? 2 : 8;
      for (let kill = 1; kill <= kills; kill += 1) await killOne(act, consumers, { kill, kills });
      await act.recovered();
      const { journal } = await act.settle(load);
      const again = redelivered(journal);
      act.notes.push(`${kills} kills, ${again} deliveries of what was not acknowledged`);
      act.expect(again > 0, 'nothing was given out again: the kills hit nothing');
    } finally {
      await Promise.all(consumers.map((consumer) => consumer.kill()));
      await redis.kill();
    }
  },
};

function queueAgent(act: Act, name: string, address: string): Promise<string> {
  return act.agent(name, {
    address: null,
    endpoint: { protocol: 'mq', address, ack_timeout_ms: CLAIM_MS },
    ...(name === 'idempotent' && { idempotent: true }),
  });
}

async function startConsumers(act: Act, agent: string): Promise<AgentInstance[]> {
  const gateway = act.stage.urls[0]!;
  const known = await http('GET', `${gateway}/v1/agents/${agent}`);
  const [{ descriptor }] = known?.body.versions as [{ descriptor: DescriptorDraft }];
  const parts = { journal: act.stage.agents.file, gateway, descriptor };
  const consumers = await Promise.all(Array.from({ length: CONSUMERS }, () => AgentInstance.queue(parts)));
  if (!(await eventually(() => isReady(gateway, agent), { limitMs: 10_000 }))) throw new Error(`${agent} is not ready`);
  return consumers;
}

async function killOne(
  act: Act,
  consumers: AgentInstance[],
  { kill, kills }: { kill: number; kills: number },
): Promise<void> {
  const moment = act.random.chance(0.5) ? 'got' : 'worked';
  act.say(
    `killing an agent that ${moment === 'got' ? 'has received a call' : 'has not answered yet'}, ${kill} of ${kills}`,
  );
  const victim = act.random.pick(consumers);
  await victim.when(moment, 3_000);
  await victim.kill();
  await victim.restart();
}

/** Deliveries of an attempt that somebody had before. */
function redelivered(journal: readonly JournalEntry[]): number {
  const attempts = new Set(journal.map(({ fence, reach_id }) => `${reach_id} ${fence}`));
  return journal.length - attempts.size;
}

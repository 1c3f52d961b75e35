import { setTimeout as sleep } from 'node:timers/promises';
import type { Act } from '../harness/act';
import { http } from '../harness/http';
import { inParallel } from '../harness/waiting';

/** What became of the heartbeats of some instances. */
export interface LeasedInstances {
  /** How often they had to register again, all together. */
  reregistrations: number;
  stop(): void;
}

const BEAT_MS = 1_500;
const REGISTERED_AT_ONCE = 4;

/** How many instances there are, how long their leases live, and which gateway they talk to (default: the first). */
export interface LeaseTerms {
  count: number;
  ttlSec: number;
  gateway?: string;
}

/**
 * Instances that live by short leases, kept as the SDK would: heartbeats, and a new registration when one expired. Agents
 * that share a process answer for all of them.
 */
export async function leaseInstances(act: Act, agent: string, terms: LeaseTerms): Promise<LeasedInstances> {
  const { count, ttlSec, gateway = act.stage.urls[0]! } = terms;
  const body = { version: '1.0.0', ttl_sec: ttlSec, host: act.stage.agents.urlOf(agent) };
  const instances = { reregistrations: 0, stop: () => void (isOver = true) };
  let isOver = false;
  const register = async (url: string) =>
    ((await http('PUT', url, { body, limitMs: 3_000 }))?.body?.epoch ?? null) as string | null;
  const keepAlive = async (url: string, firstEpoch: string) => {
    for (let epoch = firstEpoch; !isOver; await sleep(BEAT_MS)) {
      const beat = { epoch, status: 'ready', load: 0.1 };
      const answer = await http('POST', `${url}/heartbeat`, { body: beat, limitMs: 3_000 });
      if (answer?.status !== 410 && answer?.status !== 409) continue;
      const again = await register(url);
      if (again === null) continue;
      epoch = again;
      instances.reregistrations += 1;
    }
  };
  const urls = Array.from({ length: count }, (_, n) => `${gateway}/v1/agents/${agent}/instances/${agent}-${n + 1}`);
  await inParallel(urls, REGISTERED_AT_ONCE, async (url) => {
    const epoch = await register(url);
    if (epoch === null) throw new Error(`${agent} could not register an instance`);
    void keepAlive(url, epoch);
  });
  return instances;
}

/** A single one of them, at the first gateway. */
export function leaseInstance(act: Act, agent: string, ttlSec: number): Promise<LeasedInstances> {
  return leaseInstances(act, agent, { count: 1, ttlSec });
}

/** To how many instances of this agent a gateway routes; null when it did not say. */
export async function readyCount(url: string, agent: string): Promise<number | null> {
  const answer = await http('GET', `${url}/v1/agents/${agent}`, { limitMs: 3_000 });
  if (answer?.status !== 200) return null;
  return (answer.body.instances as { status: string }[]).filter(({ status }) => status === 'ready').length;
}

/** Whether a gateway routes to an instance of this agent. */
export async function isReady(url: string, agent: string): Promise<boolean> {
  return ((await readyCount(url, agent)) ?? 0) > 0;
}

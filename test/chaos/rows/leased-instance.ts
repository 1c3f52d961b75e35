import { setTimeout as sleep } from 'node:timers/promises';
import type { Act } from '../harness/act';
import { http } from '../harness/http';

/** What became of an instance's heartbeats. */
export interface LeasedInstance {
  /** How often it had to register again. */
  reregistrations: number;
  stop(): void;
}

const BEAT_MS = 500;

/** An instance that lives by a short lease, kept as the SDK would: heartbeats, and a new registration when it expired. */
export async function leaseInstance(act: Act, agent: string, ttlSec: number): Promise<LeasedInstance> {
  const url = `${act.stage.urls[0]}/v1/agents/${agent}/instances/${agent}-1`;
  const body = { version: '1.0.0', ttl_sec: ttlSec, host: act.stage.agents.urlOf(agent) };
  const register = async () =>
    ((await http('PUT', url, { body, limitMs: 3_000 }))?.body?.epoch ?? null) as string | null;
  let epoch = await register();
  if (epoch === null) throw new Error(`${agent} could not register an instance`);
  const instance = { reregistrations: 0, stop: () => void (isOver = true) };
  let isOver = false;
  const beat = async () => {
    while (!isOver) {
      await sleep(BEAT_MS);
      const beatBody = { epoch, status: 'ready', load: 0.1 };
      const answer = await http('POST', `${url}/heartbeat`, { body: beatBody, limitMs: 3_000 });
      if (answer?.status !== 410 && answer?.status !== 409) continue;
      const again = await register();
      if (again === null) continue;
      epoch = again;
      instance.reregistrations += 1;
    }
  };
  void beat();
  return instance;
}

/** Whether a gateway routes to an instance of this agent. */
export async function isReady(url: string, agent: string): Promise<boolean> {
  const answer = await http('GET', `${url}/v1/agents/${agent}`, { limitMs: 3_000 });
  const instances = (answer?.body?.instances ?? []) as { status: string }[];
  return instances.some(({ status }) => status === 'ready');
}

/** What the tests of delivery by real processes share: one gateway, workers that come and go, agents by name. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import { startRoot, writeConfig, type PlatformProcess } from '../process/platform-process';
import { registerAgent, startScriptedAgent, type ScriptedAgent } from '../process/scripted-agent';

/** A gateway without a worker, as a process of its own, and whatever a test starts beside it. */
export interface Stage {
  url: string;
  /** Starts a worker of this platform; killed at the end when it still lives. */
  startWorker(config?: string): Promise<PlatformProcess>;
  /** A configuration of the same platform with other settings for `server`. */
  configWith(server: object): string;
  /** An agent under a script with one ability of its own. */
  startAgent(more?: { capability?: object; endpoint?: object }): Promise<StagedAgent>;
  /** Kills every worker that still lives: what one test leaves must not serve the next. */
  killWorkers(): Promise<void>;
  close(): Promise<void>;
}

export interface StagedAgent extends ScriptedAgent {
  name: string;
  ability: string;
}

export async function openStage(more: Record<string, object> = {}): Promise<Stage> {
  const file = writeConfig(more);
  const gateway = await startRoot('gateway', ['--config', file, '--no-worker']);
  const workers: PlatformProcess[] = [];
  const agents: ScriptedAgent[] = [];
  let serial = 0;
  const killWorkers = async () => {
    await Promise.all(workers.splice(0).map((worker) => worker.kill('SIGKILL')));
  };
  return {
    killWorkers,
    url: gateway.ready,
    configWith: (server) => sameWith(file, server),
    async startWorker(config = file) {
      const worker = await startRoot('worker', ['--config', config]);
      workers.push(worker);
      return worker;
    },
    async startAgent(draft = {}) {
      serial += 1;
      const agent = await startScriptedAgent();
      agents.push(agent);
      const [name, ability] = [`agent-${serial}`, `work-${serial}`];
      await registerAgent(gateway.ready, name, {
        url: agent.url,
        ...draft,
        capability: { name: ability, ...draft.capability },
      });
      return Object.assign(agent, { name, ability });
    },
    async close() {
      await killWorkers();
      await Promise.all(agents.map((agent) => agent.close()));
      await gateway.kill('SIGTERM');
    },
  };
}

function sameWith(file: string, server: object): string {
  const kept = parse(readFileSync(file, 'utf8')) as Record<string, object>;
  return writeConfig({ ...kept, server: { ...kept.server, ...server } });
}

/** What the view of an ended reach says of its attempts. */
export interface EndedView {
  status: string;
  /** Their number, of one that completed. */
  attempts: { n: number; code?: string; received: string }[] | number;
  error?: { code: string; retryable: boolean };
  output?: Record<string, unknown>;
}

/** `[code, received]` of every attempt. */
export const fates = ({ attempts }: Pick<EndedView, 'attempts'>) =>
  Array.isArray(attempts) ? attempts.map(({ code, received }) => [code ?? 'ok', received]) : attempts;

/** Resolves to `value` unless `promise` settles first: for "nothing happens". */
export async function quietFor<T>(ms: number, promise: Promise<T>): Promise<T | 'quiet'> {
  return Promise.race([promise, sleep(ms, 'quiet' as const)]);
}

import type { DescriptorDraft } from '../../src/protocol/descriptor';
import type { AgentLog } from '../../src/sdk/agent';
import { problem, ScriptedGateway, type Reply, type Seen } from './scripted-gateway';

/** The registry's part of the gateway with just enough memory to lose an instance or give it to somebody else. */
export class ScriptedRegistry {
  /** The last epoch given out. */
  epoch = 0;
  /** The current epoch of each instance, by path. */
  readonly #instances = new Map<string, number>();
  ttlSec: number | undefined;
  /** Added to the answer of a registration. */
  worker: object | undefined;
  /** Answers in place of the registry while set. */
  override: Reply | undefined;
  /** Answers heartbeats in place of the registry while set. */
  beatOverride: Reply | undefined;

  readonly answer = (seen: Seen): Reply => {
    if (this.override !== undefined) return this.override;
    if (seen.method === 'POST' && seen.path === '/v1/agents') return { status: 201, body: {} };
    if (seen.method === 'PUT') return this.#register(seen);
    if (seen.path.endsWith('/deduplication:begin')) return { status: 200, body: { status: 'free' } };
    if (seen.path.endsWith('/deduplication:complete')) return { status: 200, body: { status: 'recorded' } };
    if (seen.method === 'DELETE') return { status: 204, body: '' };
    return this.beatOverride ?? this.#beat(seen);
  };

  /** Every lease runs out. */
  expireAll(): void {
    this.#instances.clear();
  }

  /** Somebody else registers every instance. */
  takeOverAll(): void {
    for (const path of this.#instances.keys()) this.#instances.set(path, (this.epoch += 1));
  }

  #register(seen: Seen): Reply {
    this.epoch += 1;
    this.#instances.set(seen.path, this.epoch);
    this.ttlSec = Number(seen.json?.ttl_sec);
    return {
      status: 200,
      body: { lease_id: 'l', epoch: String(this.epoch), ttl_sec: this.ttlSec, worker: this.worker },
    };
  }

  #beat(seen: Seen): Reply {
    const current = this.#instances.get(seen.path.replace(/\/heartbeat$/, ''));
    if (current === undefined) return problem('lease_expired', 410);
    if (seen.json?.epoch !== String(current)) return problem('stale_epoch', 409);
    return { status: 200, body: { remaining_sec: this.ttlSec } };
  }
}

/** A gateway that is nothing but a registry. */
export async function startRegistry(): Promise<{ gateway: ScriptedGateway; registry: ScriptedRegistry }> {
  const registry = new ScriptedRegistry();
  return { registry, gateway: await ScriptedGateway.start(registry.answer) };
}

export const beats = (gateway: ScriptedGateway) => gateway.requests('POST', /heartbeat$/);
export const puts = (gateway: ScriptedGateway) => gateway.requests('PUT', /instances/);

/** An echo agent's descriptor. */
export const echoDescriptor = (protocol: 'http' | 'worker', more: object = {}): DescriptorDraft => ({
  name: 'echo',
  version: '1.0.0',
  max_concurrency: 2,
  capabilities: [{ name: 'echo', description: 'Says it again' }],
  endpoint: { protocol },
  ...more,
});

/** A call as the platform makes it. */
export const call = (more: object = {}) => ({
  message_id: 'm-1',
  reach_id: 'r-1',
  ability: 'echo',
  type: 'task',
  payload: { text: '你好' },
  context_id: null,
  idempotency_key: 'k-1',
  delivery_semantics: 'at_least_once',
  source_agent: 'tester',
  group: 'default',
  version: '1.0.0',
  attempt: 1,
  fence: '1767225600000000001',
  deadline_ms: 5_000,
  bypass: false,
  ...more,
});

/** Keeps log lines instead of printing them. */
export function quietLog(): AgentLog & { lines: { level: string; fields: object; message: string }[] } {
  const lines: { level: string; fields: object; message: string }[] = [];
  const at = (level: string) => (fields: object, message: string) => void lines.push({ level, fields, message });
  return { lines, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

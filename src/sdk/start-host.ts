import type { Descriptor } from '../protocol/descriptor';
import type { AgentHost } from './agent-host';
import type { AgentLog, AgentOptions } from './agent-types';
import type { CallRunner } from './call-runner';
import { HttpHost } from './http-host';
import { LargePayloads } from './large-payloads';
import { LateDelivery } from './late-delivery';
import type { Transport } from './transport';

/** What an agent's host is made of, whatever it speaks. */
export interface StartHostParts {
  descriptor: Descriptor;
  runner: CallRunner;
  instanceId: string;
  maxConcurrency: number;
  /** How long to wait for a broker that is not there yet, ms. */
  startTimeoutMs: number;
  /** Aborts when the agent is to leave, be it before it has started. */
  leaving: AbortSignal;
  log: AgentLog;
  /** To the gateway: late results, large payloads. */
  transport: Transport;
  options: Pick<AgentOptions, 'http' | 'queue'>;
}

/**
 * Starts what can take calls before the agent is registered: an HTTP server (with its `url`) or a consumer of a queue. Null for workers,
 * which learn where Temporal is when they register.
 */
export async function startHost(parts: StartHostParts): Promise<(AgentHost & { url?: string }) | null> {
  const { descriptor, runner, log, transport, options } = parts;
  const late = new LateDelivery(transport, descriptor.endpoint?.ack_timeout_ms);
  switch (descriptor.endpoint?.protocol) {
    case 'http':
      return HttpHost.start({ runner, options: options.http, late, log });
    case 'mq': {
      // Loaded only when needed: other agents start without the Redis client.
      const { QueueHost } = await import('./queue-host');
      return QueueHost.start({ ...parts, late, payloads: new LargePayloads(transport), options: options.queue ?? {} });
    }
    default:
      return null;
  }
}

import type { Descriptor } from '../../protocol/descriptor';
import type { InstanceState } from '../../protocol/shapes';
import type { AgentVersion } from '../../protocol/world';

const DEFAULT_INTERVAL_SEC = 10;
const DEFAULT_TIMEOUT_SEC = 5;
const DEFAULT_PATH = '/healthz';
/** Protocols whose instances answer plain HTTP. */
const HTTP_PROTOCOLS: ReadonlySet<string> = new Set(['http', 'a2a', 'mcp']);

/** Something to probe. */
export interface ProbeTarget {
  agent: AgentVersion;
  instance: InstanceState;
  url: string;
  intervalMs: number;
  timeoutMs: number;
  declared: boolean;
}

/**
 * Who is to be probed (R14): instances with a host by default, static addresses only when their descriptor has a
 * `health_check` (without one they are ready until their calls say otherwise). `GET {origin}/healthz` unless
 * `health_check.path` says otherwise.
 */
export function probeTargets(agents: readonly AgentVersion[]): ProbeTarget[] {
  return agents.flatMap((agent) => agent.instances.flatMap((instance) => target(agent, instance) ?? []));
}

function target(agent: AgentVersion, instance: InstanceState): ProbeTarget | null {
  const { descriptor } = agent;
  const check = descriptor.health_check;
  if (instance.source === 'static' && check === undefined) return null;
  const url = healthUrl(descriptor, instance.host);
  if (url === null) return null;
  return {
    agent,
    instance,
    url,
    intervalMs: (check?.interval_sec ?? DEFAULT_INTERVAL_SEC) * 1_000,
    timeoutMs: (check?.timeout_sec ?? DEFAULT_TIMEOUT_SEC) * 1_000,
    declared: check !== undefined,
  };
}

function healthUrl({ endpoint, health_check: check }: Descriptor, host: string | null): string | null {
  const spoken = endpoint?.protocol ?? 'http';
  if (host === null || !HTTP_PROTOCOLS.has(spoken) || !URL.canParse(host)) return null;
  const { protocol, origin } = new URL(host);
  if (protocol !== 'http:' && protocol !== 'https:') return null;
  const url = `${origin}${check?.path ?? DEFAULT_PATH}`;
  return URL.canParse(url) ? url : null;
}

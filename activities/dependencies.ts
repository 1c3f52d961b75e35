import type { Adapter } from '../src/adapters';
import type { ErrorCode } from '../src/protocol/error-codes';
import type { AgentVersion, World } from '../src/protocol/world';
import type { Router } from '../src/routing';
import type { ReachTokens } from '../src/protocol/reach-token';

/** Whom a call goes to. */
export interface CallKey {
  agentName: string;
  agentVersion: string;
  ability: string;
  instanceId: string | null;
}

/** One measured call, as the shared statistics count it. `neutral`: the caller's fault, not held against the agent. */
export interface CallSample extends CallKey {
  durationMs: number;
  outcome: 'ok' | 'failure' | 'neutral';
  /** Why it failed. */
  code?: ErrorCode;
}

/** What the activities work with; the composition root brings it. */
export interface ActivityDependencies {
  router: Pick<Router, 'route' | 'stillGood' | 'pickInstance'>;
  world: () => World;
  adapters: ReadonlyMap<Adapter['protocol'], Adapter>;
  recordCall: (sample: CallSample) => void;
  /** Counts a call as in flight until the answer is called (R14: a full instance is busy, whatever it reports). */
  startCall?: (key: CallKey) => () => void;
  tokens: ReachTokens;
  /** `adapter.protocol_timeout_ms` */
  protocolTimeoutMs: number;
  maxResponseBytes: number;
  /** In [0, 1); injected for tests. */
  random: () => number;
}

/** Finds one version of an agent in the registry's view. */
export function findAgent(world: World, name: string, version: string): AgentVersion | undefined {
  return world.agents.find((agent) => agent.name === name && agent.version === version);
}

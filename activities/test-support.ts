/** A platform of plain objects for tests of activities: one agent that is scripted, and limits that are counted. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Adapter, AdapterAnswer } from '../src/adapters';
import type { ReachError } from '../src/protocol/reach-error';
import type { ReachTokens } from '../src/protocol/reach-token';
import type { AgentCall, InstanceState } from '../src/protocol/shapes';
import type { AgentVersion, World } from '../src/protocol/world';
import type { BreakerOutcome } from '../src/protocol/reliability';
import { descriptorSchema } from '../src/protocol/descriptor';
import type { ActivityDependencies } from './dependencies';
import { FastLane } from './fast-lane';
import { createPayloads } from '../src/payloads';
import { DEFAULT_MAX_PAYLOAD_BYTES } from '../src/protocol/payload-ref';
import { reachInput } from '../test/support/reach-input';
import type { InvokeInput } from '../workflows/messages';

export interface FakePlatform {
  deps: ActivityDependencies;
  /** What was said of nobody being there. */
  refusals: ReachError[];
  agent: { calls: AgentCall[]; script(step: () => Promise<AdapterAnswer>): void };
  permits: { limit: number; held: Set<string>; acquired: number };
  bulkheads: { refuseWith: ReachError | null; inUse: number };
  breakers: { refuseWith: ReachError | null; entered: number; reported: BreakerOutcome[] };
}

const INSTANCE: InstanceState = {
  instance_id: 'i-1',
  host: 'http://127.0.0.1:1',
  version: '1.0.0',
  status: 'ready',
  status_reason: 'reported ready',
  since: '2026-01-01T00:00:00.000Z',
  load: 0,
  in_flight: 0,
  max_concurrency: 4,
  health: 'unknown',
  source: 'lease',
};

const AGENT: AgentVersion = {
  name: 'echo_agent',
  version: '1.0.0',
  descriptor: descriptorSchema.parse({ name: 'echo_agent', version: '1.0.0', capabilities: ['echo'] }),
  registered_at: '2026-01-01T00:00:00.000Z',
  instances: [INSTANCE],
};

/** A call of `echo_agent`. */
export const invokeInput = (more: Partial<InvokeInput> = {}): InvokeInput => ({
  tenant: 'default',
  envelope: reachInput().envelope,
  decision_id: 'd-1',
  agent_name: 'echo_agent',
  agent_version: '1.0.0',
  ability: 'echo',
  share_ms: 10_000,
  timeout_ms: 1_000,
  retries: 3,
  idempotent: null,
  attempts_before: 0,
  confirm: false,
  trace_id: '0af7651916cd43dd8448eb211c80319c',
  run_start_ms: 1_767_225_600_000,
  ...more,
});

/** One agent `echo_agent` with one instance, everything open until told otherwise. */
export function fakeDependencies(): FakePlatform {
  const calls: AgentCall[] = [];
  let step = (): Promise<AdapterAnswer> => Promise.resolve({ kind: 'answer', output: {} });
  const permits: FakePlatform['permits'] = { limit: 8, held: new Set(), acquired: 0 };
  const refusals: ReachError[] = [];
  const bulkheads: FakePlatform['bulkheads'] = { refuseWith: null, inUse: 0 };
  const breakers: FakePlatform['breakers'] = { refuseWith: null, entered: 0, reported: [] };
  const world: World = { revision: '1', agents: [AGENT], stats: { ability: () => null, instance: () => null } };
  const adapter: Adapter = {
    protocol: 'http',
    invoke(call) {
      calls.push(call);
      return step();
    },
    close: () => Promise.resolve(),
  };
  const deps: ActivityDependencies = {
    router: {
      route: () => Promise.reject(new Error('not scripted')),
      stillGood: () => true,
      pickInstance: () => INSTANCE,
    },
    world: () => world,
    isCutOff: () => false,
    adapters: new Map([['http' as const, adapter]]),
    recordCall: () => undefined,
    tokens: { issue: () => 'token' } as unknown as ReachTokens,
    protocolTimeoutMs: 5_000,
    maxResponseBytes: 1_048_576,
    random: () => 0.5,
    reportInstance: () => undefined,
    limitOf: () => 10,
    queueWaitMs: 0,
    fastLane: new FastLane(10),
    breakers: {
      enter: async (_key, { mark }) => {
        if (breakers.refuseWith) throw breakers.refuseWith;
        breakers.entered += 1;
        return { mark, phase: 'p-1' };
      },
      report: (_key, _ticket, outcome) => void breakers.reported.push(outcome),
    },
    bulkheads: {
      enter: async () => {
        if (bulkheads.refuseWith) throw bulkheads.refuseWith;
        bulkheads.inUse += 1;
        return () => (bulkheads.inUse -= 1);
      },
      isFull: () => false,
      retryDelayMs: () => 250,
      turnAway: () => 250,
    },
    retryPermits: fakePermits(permits),
    startReach: () => Promise.resolve(true),
    reportRefusal: (refusal) => void refusals.push(refusal),
    reportDeliveries: () => undefined,
    payloads: createPayloads(
      {
        max_bytes: DEFAULT_MAX_PAYLOAD_BYTES,
        retention: 60_000,
        upload_ttl: 60_000,
        store: { type: 'files', directory: mkdtempSync(join(tmpdir(), 'agent-reach-payloads-')) },
      },
      'test',
    ).payloads,
    tree: {
      takeRetry: () => Promise.resolve(true),
      children: () => Promise.resolve([]),
      lastSign: () => Promise.resolve(null),
    },
    cancelReach: () => Promise.resolve('unknown'),
  };
  return { deps, refusals, agent: { calls, script: (next) => (step = next) }, permits, bulkheads, breakers };
}

function fakePermits(permits: FakePlatform['permits']): ActivityDependencies['retryPermits'] {
  const take = ({ holder }: { holder: string }) => {
    if (!permits.held.has(holder) && permits.held.size >= permits.limit) return Promise.resolve(null);
    permits.held.add(holder);
    permits.acquired += 1;
    return Promise.resolve({ slot: 0 });
  };
  return {
    acquire: take,
    renew: take,
    release({ holder }) {
      permits.held.delete(holder);
      return Promise.resolve();
    },
    releaseAll(holder) {
      permits.held.delete(holder);
      return Promise.resolve();
    },
  };
}

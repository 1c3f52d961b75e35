/** The gateway's judgement at acceptance, on a world and a demand as plain data. */
import { Feasibility } from '../../src/gateway/feasibility';
import { descriptorSchema } from '../../src/protocol/descriptor';
import type { Envelope } from '../../src/protocol/envelope';
import { ReachError } from '../../src/protocol/reach-error';
import { routedTarget } from '../../src/protocol/routed-target';
import type { BreakerGate } from '../../src/protocol/reliability';
import type { Decision, InstanceState } from '../../src/protocol/shapes';
import type { AgentVersion, World } from '../../src/protocol/world';
import type { MeasuredDemand } from '../../src/registry';

const SERVICES = 200;

const instance = (max_concurrency: number | null): InstanceState => ({
  instance_id: 'a',
  host: 'http://127.0.0.1:1',
  version: '1.0.0',
  status: 'busy',
  status_reason: '',
  since: '',
  load: 0,
  in_flight: 1,
  max_concurrency,
  health: 'passing',
  source: 'lease',
});

function agentOf(protocol: 'http' | 'worker', more: object = {}): AgentVersion {
  const draft = { name: 'desk', version: '1.0.0', capabilities: ['work'], endpoint: { protocol, ...more } };
  const descriptor = descriptorSchema.parse(draft);
  return { name: 'desk', version: '1.0.0', descriptor, registered_at: '', instances: [instance(1)] };
}

function demandOf(serviceMs: number): MeasuredDemand {
  const service = {
    count: SERVICES,
    sumMs: SERVICES * serviceMs,
    sumSquaresMs2: SERVICES * serviceMs * serviceMs,
    values: [[serviceMs, SERVICES] as const],
  };
  const rates = { arrivalsPerSec: 1, arrivalsPerSec1m: 1, callsPerSec: 1, windowSec: 300, arrivals: 300, slots: [] };
  return { version: '1.0.0', ability: 'work', ...rates, service, earlier: null };
}

const decision = {
  decision_id: 'd-1',
  route_reason: 'the only one',
  chosen: { agent_name: 'desk', agent_version: '1.0.0', ability: 'work', score: 1 },
} as Decision;

/** What comes of a reach with 10 s, for an agent that takes one call of 1 s at a time and has one in hand. */
function check({
  queueDepth,
  mode = 'async',
  agent = agentOf('http'),
  serviceMs = 1_000,
  feasibility = 'refuse',
  share,
  others = [],
}: {
  queueDepth: number;
  mode?: 'sync' | 'async';
  agent?: AgentVersion;
  serviceMs?: number;
  feasibility?: 'off' | 'warn' | 'refuse';
  /** What the agent's breaker lets pass. */
  share?: number;
  /** What other versions are asked for, with whom it shares the queue. */
  others?: MeasuredDemand[];
}) {
  const stats = { requests: 9, failures: 0, p50_ms: 1, p95_ms: 1, p99_ms: 1, in_flight: 1 } as never;
  const breakers = share === undefined ? {} : { breakers: { gate: () => ({ share }) as BreakerGate } };
  const measured = { ability: () => stats, instance: () => stats };
  const world: World = { revision: '1', agents: [agent], stats: measured, ...breakers };
  const judge = new Feasibility({
    world: () => world,
    demand: { agent: () => ({ queueDepth, series: [demandOf(serviceMs), ...others] }) },
    limitOf: () => 100,
    settings: { feasibility, minProbability: 0.05 },
    queueWaitMs: 500,
  });
  const routed = { decision, target: routedTarget(agent.descriptor, 'work', 60_000), ready: share === undefined };
  return judge.check(routed, { mode, timeout_ms: 10_000 } as Envelope);
}

function refusalOf(run: () => unknown): ReachError {
  try {
    run();
  } catch (caught) {
    if (caught instanceof ReachError) return caught;
  }
  throw new Error('was expected to be refused');
}

it('estimates the queue before it and the service', () => {
  const { eta_ms, eta_p95_ms, warnings } = check({ queueDepth: 1 });
  expect(eta_ms).toBeGreaterThan(4_000);
  expect(eta_ms).toBeLessThan(5_500);
  expect(eta_p95_ms).toBeGreaterThan(eta_ms!);
  expect(warnings).toBeUndefined();
});

it('refuses for the queue with the time to come back, and with its estimate', () => {
  const error = refusalOf(() => check({ queueDepth: 40 }));
  expect(error.toProblem()).toMatchObject({
    code: 'overloaded',
    status: 503,
    degraded: true,
    retryable: true,
    agent_name: 'desk',
    decision_id: 'd-1',
    details: { probability: expect.any(Number), queue_depth: 40, samples: SERVICES },
  });
  expect(error.options.retryAfterMs).toBeGreaterThan(30_000);
  expect(error.message).toMatch(/behind 40 others.*nothing was started: send it again after the given time/);
});

it('does not count against a version those who wait for another one', () => {
  const rates = { arrivalsPerSec: 39, arrivalsPerSec1m: 39, callsPerSec: 39 };
  const stable: MeasuredDemand = { ...demandOf(1_000), ...rates, version: '0.9.0' };
  // One in 40 calls goes to it, so one of the 40 who wait does.
  const { eta_ms, warnings } = check({ queueDepth: 40, others: [stable] });
  expect(eta_ms).toBe(check({ queueDepth: 1 }).eta_ms);
  expect(warnings).toBeUndefined();
  const error = refusalOf(() => check({ queueDepth: 1_600, others: [stable] }));
  expect(error.toProblem()).toMatchObject({ details: { queue_depth: 40 } });
  expect(error.message).toContain('behind 40 others');
});

it('refuses for good where services alone take too long', () => {
  const problem = refusalOf(() => check({ queueDepth: 40, serviceMs: 6_000 })).toProblem();
  expect(problem).toMatchObject({ code: 'deadline_exceeded', status: 504 });
  expect(problem).not.toHaveProperty('retry_after_ms');
});

it('only warns unless it is told to refuse, and says nothing where it is off', () => {
  expect(check({ queueDepth: 40, feasibility: 'warn' }).warnings).toHaveLength(1);
  const off = check({ queueDepth: 40, feasibility: 'off' });
  expect([off.warnings, off.eta_ms! > 30_000]).toEqual([undefined, true]);
});

it('knows that a caller who waits may not stand in the queue for long', () => {
  expect(check({ queueDepth: 1 }).warnings).toBeUndefined();
  expect(check({ queueDepth: 1, mode: 'sync', feasibility: 'warn' }).warnings).toHaveLength(1);
});

it('never refuses for agents that pull: their service times contain their queue', () => {
  expect(check({ queueDepth: 40, agent: agentOf('worker') }).warnings).toHaveLength(1);
});

it('says nothing of agents that deliver later, and while nobody is ready', () => {
  expect(check({ queueDepth: 40, agent: agentOf('http', { ack_timeout_ms: 1_000 }) })).toEqual({});
  expect(check({ queueDepth: 40, agent: { ...agentOf('http'), instances: [] } })).toEqual({});
});

test('of a reach that a breaker holds back no time is told, be it ever so short a service', () => {
  expect(check({ queueDepth: 0, serviceMs: 3, feasibility: 'warn', share: 0.05 })).toEqual({});
  expect(check({ queueDepth: 0, serviceMs: 3, feasibility: 'warn', share: 1 })).toHaveProperty('eta_ms');
});

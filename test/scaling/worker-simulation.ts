/**
 * Workers that call one agent, in simulated time: the bulkheads, the admission, the router and the view's count of full instances
 * are the real ones; what another process told is seen as late as etcd and the view's recount make it. For jest's fake timers.
 */
import { admit } from '../../activities/admission';
import { fakeDependencies } from '../../activities/test-support';
import { LexicalMatcher } from '../../src/embeddings';
import { Bulkheads } from '../../src/policy/bulkhead';
import { descriptorSchema } from '../../src/protocol/descriptor';
import type { AbilityStats, AgentVersion, World } from '../../src/protocol/world';
import { systemClock } from '../../src/registry/clock';
import { Membership } from '../../src/registry/limits/membership';
import { buildVersion, emptyEntry } from '../../src/registry/view/agent-entry';
import { Fullness } from '../../src/registry/view/fullness';
import { DEFAULT_ROUTER_CONFIG, Router, type RouteRequest } from '../../src/routing';

/** How often processes tell their counts, and compare them with the limits, ms: as in `StatsHub` and `RegistryView`. */
const TOLD_MS = 1_000;
const QUEUE_WAIT_MS = 500;
/** From a process to the engine and on to a worker, ms. */
export const DISPATCH_MS = 10;

const NOBODY_EJECTED = { of: () => null };
const NOTHING = { requests: 0, failures: 0, p50_ms: null, p95_ms: null, p99_ms: null };
const DESCRIPTOR = descriptorSchema.parse({ name: 'desk', version: '1.0.0', capabilities: ['work'] });

export const REQUEST: RouteRequest = {
  ability: 'work',
  payload: {},
  type: DESCRIPTOR.accepted_message_types[0]!,
  group: 'default',
  mode: 'sync',
  metadata: {},
};

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** The agent: who is inside, and how much of its time was taken. */
export class SimulatedAgent {
  inside = 0;
  most = 0;
  served = 0;
  busyMs = 0;

  constructor(private readonly serviceMs: () => number) {}

  async serve(): Promise<void> {
    this.inside += 1;
    this.most = Math.max(this.most, this.inside);
    const ms = this.serviceMs();
    await pause(ms);
    this.inside -= 1;
    this.served += 1;
    this.busyMs += ms;
  }
}

/** What processes told of their calls at each instance, as etcd shows it. */
type Board = Map<string, ReadonlyMap<string, number>>;

/** One process with its view of the registry; a worker if it is given a share of the limits. */
class SimulatedProcess {
  readonly bulkheads: Bulkheads;
  readonly router: Router;
  private readonly own = new Map<string, number>();
  private agent: AgentVersion;
  private readonly ticking: NodeJS.Timeout;

  constructor(
    readonly id: string,
    private readonly board: Board,
    { places, instances, workers, random }: Required<PlatformOptions> & { random: () => number },
  ) {
    const membership = new Membership(id, () => performance.now());
    for (let n = 0; n < workers; n += 1) membership.see(`w${n}`, true);
    membership.begin();
    jest.advanceTimersByTime(1_000);
    membership.settle(true);
    const shares = {
      share: (limit: number, key: string) => membership.share(limit, key),
      onChange: () => () => undefined,
    };
    this.bulkheads = new Bulkheads({ shares, queueLimit: 100, random });
    const entry = emptyEntry();
    for (let n = 0; n < instances; n += 1) {
      const record = {
        version: '1.0.0',
        host: 'http://127.0.0.1:1',
        ttl_sec: 600,
        registered_at: '2026-01-01T00:00:00Z',
        max_concurrency: places,
      };
      entry.instances.set(`i${n}`, { record: record as never, epoch: '1' });
    }
    const fullness = new Fullness(this.stats, systemClock);
    const build = (previous?: AgentVersion) =>
      buildVersion(
        { descriptor: DESCRIPTOR, registered_at: '' } as never,
        entry,
        { measured: fullness, ejections: NOBODY_EJECTED },
        previous,
      );
    this.agent = build();
    this.ticking = setInterval(() => {
      this.board.set(this.id, new Map(this.own));
      fullness.refresh([this.agent]);
      this.agent = build(this.agent);
    }, TOLD_MS);
    this.router = new Router({
      world: () => this.world(),
      matcher: new LexicalMatcher(),
      config: DEFAULT_ROUTER_CONFIG,
      random,
    });
  }

  private readonly stats: World['stats'] = {
    ability: () => null,
    instance: (_name, id): AbilityStats => {
      const others = [...this.board].filter(([process]) => process !== this.id);
      const elsewhere = others.reduce((sum, [, told]) => sum + (told.get(id) ?? 0), 0);
      return { ...NOTHING, in_flight: elsewhere + (this.own.get(id) ?? 0) };
    },
  };

  world(): World {
    return { revision: String(performance.now()), agents: [this.agent], stats: this.stats };
  }

  /** One attempt. @throws ReachError as the admission does */
  async attempt(agent: SimulatedAgent, { caller, durable }: { caller: string; durable: boolean }): Promise<void> {
    const { deps } = fakeDependencies();
    const { router, bulkheads } = this;
    const limitOf = ({ instances }: AgentVersion) => instances.reduce((sum, one) => sum + one.max_concurrency!, 0);
    const admission = await admit(
      { ...deps, world: () => this.world(), router, bulkheads, limitOf },
      {
        agent: this.agent,
        ability: 'work',
        mark: null,
        retry: false,
        budgetMs: 60_000,
        patienceMs: QUEUE_WAIT_MS,
        mayWait: durable,
        avoid: [],
        signal: new AbortController().signal,
        caller,
      },
    );
    const { instance_id: id } = admission.instance;
    this.own.set(id, (this.own.get(id) ?? 0) + 1);
    await agent.serve();
    this.own.set(id, this.own.get(id)! - 1);
    admission.end('success' as never, 1);
  }

  close(): void {
    clearInterval(this.ticking);
    this.bulkheads.close();
  }
}

export interface PlatformOptions {
  workers: number;
  /** Calls at once that each instance takes. */
  places: number;
  instances?: number;
}

/** A gateway without a worker, and workers. */
export class SimulatedPlatform {
  readonly gateway: SimulatedProcess;
  readonly workers: SimulatedProcess[];

  constructor(
    { instances = 1, ...options }: PlatformOptions,
    private readonly random: () => number,
  ) {
    const board: Board = new Map();
    const all = { ...options, instances, random };
    this.workers = Array.from({ length: options.workers }, (_, n) => new SimulatedProcess(`w${n}`, board, all));
    this.gateway = new SimulatedProcess('gateway', board, all);
  }

  /** Whichever worker polls first. */
  someWorker(): SimulatedProcess {
    return this.workers[Math.floor(this.random() * this.workers.length)]!;
  }

  close(): void {
    for (const one of [this.gateway, ...this.workers]) one.close();
  }
}

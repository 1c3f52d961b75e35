/**
 * How long one routing decision takes among many agents, vectors cached. No engine is needed.
 */
import { performance } from 'node:perf_hooks';
import { LexicalMatcher } from '../src/embeddings';
import { descriptorSchema } from '../src/protocol/descriptor';
import type { Embedder } from '../src/protocol/matching';
import type { AgentVersion, World } from '../src/protocol/world';
import { DEFAULT_ROUTER_CONFIG, Router, SemanticMatcher, type RouteRequest } from '../src/routing';

const AGENTS = 1_000;
const ABILITIES_PER_AGENT = 5;
const EXAMPLES = 4;
const DIMENSIONS = 384;
const WARM_UP = 200;
const ROUNDS = 2_000;

/** Percentiles of one kind of decision, in milliseconds. */
export interface Percentiles {
  p50_ms: number;
  p99_ms: number;
}

export interface RoutingSpeed extends Percentiles {
  agents: number;
  abilities: number;
  /** By kind of request; the figures above are the slowest kind's. */
  kinds: Record<string, Percentiles>;
}

/**
 * Decides 2,000 times each: for an ability that every agent offers in its own words (1,000 candidates), for one that a
 * single agent offers, and for `*` among all 5,000. The slowest kind is the figure.
 */
export async function runRoutingSpeed(): Promise<RoutingSpeed> {
  const world = bigWorld();
  const matcher = new SemanticMatcher({
    embedder: new RandomEmbedder(),
    fallback: new LexicalMatcher(),
    patienceMs: 60_000,
  });
  const router = new Router({ world: () => world, matcher, config: DEFAULT_ROUTER_CONFIG });
  await router.warm();
  const kinds: Record<string, Percentiles> = {};
  for (const ability of ['shared_0', 'agent_7_own', '*']) {
    kinds[ability] = await measure((round) => router.route(request(ability, round)));
  }
  const slowest = Object.values(kinds).reduce((a, b) => (b.p99_ms > a.p99_ms ? b : a));
  return { ...slowest, agents: AGENTS, abilities: AGENTS * ABILITIES_PER_AGENT, kinds };
}

async function measure(decide: (round: number) => Promise<unknown>): Promise<Percentiles> {
  for (let round = 0; round < WARM_UP; round++) await decide(round);
  const durations = new Float64Array(ROUNDS);
  for (let round = 0; round < ROUNDS; round++) {
    const start = performance.now();
    await decide(round);
    durations[round] = performance.now() - start;
  }
  durations.sort();
  return { p50_ms: durations[ROUNDS / 2]!, p99_ms: durations[Math.floor(ROUNDS * 0.99)]! };
}

function request(ability: string, round: number): RouteRequest {
  const payload = { text: `example 0 of shared_0 for agent ${round % AGENTS}` };
  return { ability, payload, type: 'task', group: 'default', mode: 'sync', metadata: {} };
}

function bigWorld(): World {
  const agents = Array.from({ length: AGENTS }, (_, n) => bigAgent(n));
  const stats = { requests: 100, failures: 1, p50_ms: 120, p95_ms: 300, p99_ms: 500, in_flight: 1 };
  return { revision: '1', agents, stats: { ability: () => stats, instance: () => stats } };
}

function bigAgent(n: number): AgentVersion {
  const names = [...Array.from({ length: ABILITIES_PER_AGENT - 1 }, (_, i) => `shared_${i}`), `agent_${n}_own`];
  const descriptor = descriptorSchema.parse({
    name: `agent_${n}`,
    version: '1.0.0',
    capabilities: names.map((name) => ({
      name,
      description: `What agent ${n} does for ${name}`,
      input_schema: { type: 'object', required: ['text'], properties: { text: { type: 'string' } } },
      examples: Array.from({ length: EXAMPLES }, (_, i) => `example ${i} of ${name} for agent ${n}`),
    })),
  });
  const instances = [0, 1].map((i) => ({
    instance_id: `agent_${n}_${i}`,
    host: `http://127.0.0.1:${9000 + i}`,
    version: '1.0.0',
    status: 'ready' as const,
    status_reason: '',
    since: '2026-01-01T00:00:00.000Z',
    load: 0.2,
    in_flight: 1,
    max_concurrency: 8,
    health: 'passing' as const,
    source: 'lease' as const,
  }));
  return {
    name: descriptor.name,
    version: descriptor.version,
    descriptor,
    registered_at: '2026-01-01T00:00:00.000Z',
    instances,
  };
}

/** Vectors in general position, the same for the same text: the arithmetic does not care what they mean. */
class RandomEmbedder implements Embedder {
  readonly kind = 'dense';
  readonly model = 'random';
  private readonly cache = new Map<string, Float32Array>();

  async embed(texts: string[]): Promise<Float32Array[]> {
    return texts.map((text) => this.cached(text));
  }

  private cached(text: string): Float32Array {
    let vector = this.cache.get(text);
    if (!vector) this.cache.set(text, (vector = randomUnit(text)));
    return vector;
  }
}

function randomUnit(text: string): Float32Array {
  let state = [...text].reduce((hash, char) => Math.imul(hash ^ char.codePointAt(0)!, 16777619) >>> 0, 2166136261);
  const vector = Float32Array.from({ length: DIMENSIONS }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  });
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

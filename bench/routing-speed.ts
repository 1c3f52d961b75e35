/**
 * How long one routing decision takes among many agents, vectors cached; what an ability costs in memory, and how long
 * a start takes with vectors on disk. No engine is needed.
 */
import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createEmbedder, LexicalMatcher } from '../src/embeddings';
import { VectorFile } from '../src/embeddings/vector-file';
import type { Embedder } from '../src/protocol/matching';
import type { World } from '../src/protocol/world';
import { DEFAULT_ROUTER_CONFIG, Router, SemanticMatcher } from '../src/routing';
import { MeaningSpace } from '../src/routing/meaning/meaning-space';
import { bigWorld, DIMENSIONS, RandomEmbedder, randomUnit, speedRequest, type WorldSize } from './speed-world';

const THOUSAND: WorldSize = { agents: 1_000, abilitiesPerAgent: 5, examples: 5 };
const TEN_THOUSAND: WorldSize = { agents: 10_000, abilitiesPerAgent: 1, examples: 5 };
const WARM_UP = 300;
const ROUNDS = 2_000;
const MODEL = 'random';

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
  /** 10,000 agents with an ability each: a decision, a start with vectors on disk, memory. */
  ten_thousand: Percentiles & {
    startup_ms: number;
    /** Memory of an ability in the space that it is compared in, beyond its own vector and those of its texts. */
    bytes_per_ability: number;
  };
}

/**
 * Decides 2,000 times each: for an ability that every agent offers in its own words (1,000 candidates), for one that a
 * single agent offers, and for `*` among all 5,000. The slowest kind is the figure.
 */
export async function runRoutingSpeed(): Promise<RoutingSpeed> {
  const world = bigWorld(THOUSAND);
  const router = routerOf(world, new RandomEmbedder());
  await router.warm();
  const kinds: Record<string, Percentiles> = {};
  for (const ability of ['shared_0', 'agent_7_own', '*']) {
    kinds[ability] = await measure((round) => router.route(speedRequest(ability, round % THOUSAND.agents)));
  }
  const slowest = Object.values(kinds).reduce((a, b) => (b.p99_ms > a.p99_ms ? b : a));
  const abilities = THOUSAND.agents * THOUSAND.abilitiesPerAgent;
  return { ...slowest, agents: THOUSAND.agents, abilities, kinds, ten_thousand: await amongTenThousand() };
}

function routerOf(world: World, embedder: Embedder): Router {
  const matcher = new SemanticMatcher({ embedder, fallback: new LexicalMatcher(), patienceMs: 60_000 });
  return new Router({ world: () => world, matcher, config: DEFAULT_ROUTER_CONFIG });
}

async function amongTenThousand(): Promise<RoutingSpeed['ten_thousand']> {
  const folder = await mkdtemp(join(tmpdir(), 'agent-reach-speed-'));
  try {
    const cacheFile = join(folder, 'vectors.bin');
    const world = bigWorld(TEN_THOUSAND);
    const texts = textsOf(world);
    await fill(cacheFile, MeaningSpace.textsOf(texts));
    const start = performance.now();
    // Whatever is not in the file would be asked of an endpoint that is not there.
    const embedder = createEmbedder({ url: 'http://127.0.0.1:1/v1', model: MODEL, cacheFile });
    const router = routerOf(world, embedder);
    await router.warm();
    const startup_ms = performance.now() - start;
    const figures = await measure((round) => router.route(speedRequest('*', round, `agent_${round}_own`)));
    await embedder.close();
    return { ...figures, startup_ms, bytes_per_ability: await bytesPerAbility(texts) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function textsOf({ agents }: World) {
  return agents.flatMap(({ descriptor }) =>
    descriptor.capabilities.map(({ name, description, examples }) => ({
      key: name,
      texts: [description, ...examples],
    })),
  );
}

async function fill(path: string, texts: readonly string[]): Promise<void> {
  const file = new VectorFile(path, Infinity);
  const hashOf = (text: string) => createHash('sha256').update(`${MODEL}  \u0000${text}`).digest('hex');
  for (let first = 0; first < texts.length; first += 1000) {
    const batch = texts.slice(first, first + 1000);
    await file.append(
      batch.map((text) => ({ hash: hashOf(text), vector: randomUnit(text) })),
      () => [],
    );
  }
  await file.close();
}

/** What a space takes, less the vectors of abilities and texts. */
async function bytesPerAbility(abilities: { key: string; texts: string[] }[]): Promise<number> {
  const texts = MeaningSpace.textsOf(abilities);
  const vectors = texts.map(randomUnit);
  const before = await memoryInUse();
  const space = await MeaningSpace.build(abilities, vectors);
  const used = (await memoryInUse()) - before;
  const own = (texts.length + space.abilities().length) * DIMENSIONS * Float32Array.BYTES_PER_ELEMENT;
  return Math.round((used - own) / abilities.length);
}

/** What is left once everything that can go has gone; buffers take more than one collection. */
async function memoryInUse(): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let i = 0; i < 3; i++) {
    collect();
    await delay(50);
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
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

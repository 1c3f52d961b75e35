import { descriptorSchema, type DescriptorDraft } from '../../src/protocol/descriptor';
import type { Embedder } from '../../src/protocol/matching';
import type { BreakerGate, BreakerKey, BreakerLookup } from '../../src/protocol/reliability';
import type { InstanceState } from '../../src/protocol/shapes';
import type { AbilityStats, AgentVersion, DegradedMode, World } from '../../src/protocol/world';
import type { RouteRequest } from '../../src/routing';

const SINCE = '2026-03-01T12:03:01.000Z';

/** An instance that is ready and idle, unless told otherwise. */
export function instance(overrides: Partial<InstanceState> = {}): InstanceState {
  return {
    instance_id: 'i-1',
    host: 'http://127.0.0.1:9001',
    version: '1.0.0',
    status: 'ready',
    status_reason: '',
    since: SINCE,
    load: 0,
    in_flight: 0,
    max_concurrency: 4,
    health: 'passing',
    source: 'lease',
    ...overrides,
  };
}

/** One version of an agent with one ready instance. */
export function agent(
  draft: DescriptorDraft,
  instances: InstanceState[] = [instance({ version: draft.version })],
): AgentVersion {
  const descriptor = descriptorSchema.parse(draft);
  return { name: descriptor.name, version: descriptor.version, descriptor, registered_at: SINCE, instances };
}

export interface WorldParts {
  agents: AgentVersion[];
  /** By `agent#version/ability`, and by instance id. */
  stats?: Record<string, Partial<AbilityStats>>;
  revision?: string;
  breakers?: BreakerLookup;
  degraded?: DegradedMode | null;
}

const NO_STATS: AbilityStats = { requests: 0, failures: 0, p50_ms: null, p95_ms: null, p99_ms: null, in_flight: 0 };

export function world({ agents, stats = {}, revision = '1', breakers, degraded }: WorldParts): World {
  const lookUp = (key: string) => (Object.hasOwn(stats, key) ? { ...NO_STATS, ...stats[key] } : null);
  return {
    revision,
    agents,
    stats: {
      ability: (name, version, ability) => lookUp(`${name}#${version}/${ability}`),
      instance: (_name, instanceId) => lookUp(instanceId),
    },
    ...(breakers && { breakers }),
    ...(degraded !== undefined && { degraded }),
  };
}

const CLOSED: BreakerGate = Object.freeze({ share: 1, mark: null, detail: '', retryAfterMs: 0 });

/** Breakers with these gates by `agent#version/ability`; the others are closed. Remembers whom it was asked about. */
export class ScriptedBreakers implements BreakerLookup {
  readonly asked: string[] = [];

  constructor(readonly gates: Record<string, Partial<BreakerGate>>) {}

  gate({ agentName, agentVersion, ability }: BreakerKey): BreakerGate {
    const key = `${agentName}#${agentVersion}/${ability}`;
    this.asked.push(key);
    return Object.hasOwn(this.gates, key) ? { ...CLOSED, ...this.gates[key] } : CLOSED;
  }
}

/** Numbers in [0, 1) that depend on the seed alone (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function request(overrides: Partial<RouteRequest> = {}): RouteRequest {
  return { payload: {}, type: 'task', group: 'default', mode: 'sync', metadata: {}, ...overrides };
}

/** Unit vectors that depend on the text alone; texts that share words are near. Counts what it is asked. */
export class WordEmbedder implements Embedder {
  readonly kind = 'dense';
  readonly model = 'words';
  readonly asked: string[][] = [];

  constructor(private readonly dimensions = 256) {}

  async embed(texts: string[]): Promise<Float32Array[]> {
    this.asked.push(texts);
    return texts.map((text) => this.vectorOf(text));
  }

  private vectorOf(text: string): Float32Array {
    const sum = new Float64Array(this.dimensions);
    for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? ['']) {
      wordVector(word, this.dimensions).forEach((value, i) => (sum[i]! += value));
    }
    const length = Math.hypot(...sum);
    return Float32Array.from(sum, (value) => value / length);
  }
}

const wordVectors = new Map<string, Float32Array>();

function wordVector(word: string, dimensions: number): Float32Array {
  const key = `${dimensions} ${word}`;
  let vector = wordVectors.get(key);
  if (!vector) wordVectors.set(key, (vector = pseudoRandom(word, dimensions)));
  return vector;
}

function pseudoRandom(word: string, dimensions: number): Float32Array {
  let state = 2166136261;
  for (const char of word) state = Math.imul(state ^ char.codePointAt(0)!, 16777619) >>> 0;
  return Float32Array.from({ length: dimensions }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  });
}

/** A registry of made-up agents, and vectors for what they say, for measuring routing alone. */
import { descriptorSchema } from '../src/protocol/descriptor';
import type { Embedder } from '../src/protocol/matching';
import type { AgentVersion, World } from '../src/protocol/world';
import type { RouteRequest } from '../src/routing';

export const DIMENSIONS = 384;

export interface WorldSize {
  agents: number;
  abilitiesPerAgent: number;
  examples: number;
}

/** Agents that all offer `shared_0` and the like, each in its own words, and one ability that nobody else offers. */
export function bigWorld(size: WorldSize): World {
  const agents = Array.from({ length: size.agents }, (_, n) => bigAgent(n, size));
  const stats = { requests: 100, failures: 1, p50_ms: 120, p95_ms: 300, p99_ms: 500, in_flight: 1 };
  return { revision: '1', agents, stats: { ability: () => stats, instance: () => stats } };
}

/** A request for `ability` whose text is an example of what one of the agents does for `topic`. */
export function speedRequest(ability: string, agent: number, topic = 'shared_0'): RouteRequest {
  const payload = { text: exampleOf(agent, topic, 0) };
  return { ability, payload, type: 'task', group: 'default', mode: 'sync', metadata: {} };
}

function exampleOf(agent: number, topic: string, number: number): string {
  return `example ${number} of ${topic} for agent ${agent}`;
}

function bigAgent(n: number, { abilitiesPerAgent, examples }: WorldSize): AgentVersion {
  const names = [...Array.from({ length: abilitiesPerAgent - 1 }, (_, i) => `shared_${i}`), `agent_${n}_own`];
  const descriptor = descriptorSchema.parse({
    name: `agent_${n}`,
    version: '1.0.0',
    capabilities: names.map((name) => ({
      name,
      description: `What agent ${n} does for ${name}`,
      input_schema: { type: 'object', required: ['text'], properties: { text: { type: 'string' } } },
      examples: Array.from({ length: examples }, (_, i) => exampleOf(n, name, i)),
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
  const { name, version } = descriptor;
  return { name, version, descriptor, registered_at: '2026-01-01T00:00:00.000Z', instances };
}

/** Vectors in general position, the same for the same text: the arithmetic does not care what they mean. */
export class RandomEmbedder implements Embedder {
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

/** A vector of length 1 that depends on the text alone. */
export function randomUnit(text: string): Float32Array {
  let state = [...text].reduce((hash, char) => Math.imul(hash ^ char.codePointAt(0)!, 16777619) >>> 0, 2166136261);
  const vector = new Float32Array(DIMENSIONS);
  let squares = 0;
  for (let i = 0; i < DIMENSIONS; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const value = state / 2 ** 31 - 1;
    vector[i] = value;
    squares += value * value;
  }
  const length = Math.sqrt(squares);
  return vector.map((value) => value / length);
}

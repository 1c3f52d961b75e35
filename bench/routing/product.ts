/** The product's own answer: descriptors in a registry view, searched by the router as `POST /v1/abilities:search` does. */
import { descriptorSchema } from '../../src/protocol/descriptor';
import { ABILITY_NAME } from '../../src/protocol/envelope';
import type { Matcher } from '../../src/protocol/matching';
import type { AgentVersion, World } from '../../src/protocol/world';
import { DEFAULT_ROUTER_CONFIG, Router } from '../../src/routing';
import type { LabelledSet } from './labelled-set';
import type { Answer } from './scores';

/** Abilities of one agent: agents with several are the usual case. */
const ABILITIES_PER_AGENT = 5;
const HITS = 5;

/** Below this a text is off topic (see `fit`). */
export const ON_TOPIC_FIT = 0.5;

export interface ProductAnswer extends Answer {
  confidence: number;
}

/** A router over the abilities of a set. */
export class Product {
  private readonly router: Router;
  private readonly labelOf = new Map<string, string>();

  constructor(set: LabelledSet, matcher: Matcher) {
    const world = this.worldOf(set);
    this.router = new Router({ world: () => world, matcher, config: DEFAULT_ROUTER_CONFIG });
  }

  /** Computes what is computed at start. */
  warm(): Promise<void> {
    return this.router.warm();
  }

  async answer(text: string, expected: string | null): Promise<ProductAnswer> {
    const hits = await this.router.searchAbilities(text, HITS);
    return {
      expected,
      ranked: hits.map(({ agent_name, ability }) => this.labelOf.get(`${agent_name}/${ability}`)!),
      topic: Math.max(0, ...hits.map(({ score }) => score)),
      confidence: hits[0]?.confidence ?? 0,
    };
  }

  private worldOf({ abilities }: LabelledSet): World {
    const names = uniqueNames(abilities.map(({ label }) => label));
    const agents: AgentVersion[] = [];
    for (let first = 0; first < abilities.length; first += ABILITIES_PER_AGENT) {
      const name = `agent-${agents.length}`;
      const capabilities = abilities.slice(first, first + ABILITIES_PER_AGENT).map((ability, i) => {
        this.labelOf.set(`${name}/${names[first + i]}`, ability.label);
        return { name: names[first + i]!, description: ability.description, examples: ability.examples };
      });
      const descriptor = descriptorSchema.parse({ name, version: '1.0.0', capabilities });
      agents.push({ name, version: '1.0.0', descriptor, registered_at: '2026-01-01T00:00:00.000Z', instances: [] });
    }
    return { revision: '1', agents, stats: { ability: () => null, instance: () => null } };
  }
}

/** Labels as names of abilities; what no name may be gets a number. */
function uniqueNames(labels: readonly string[]): string[] {
  const taken = new Set<string>();
  return labels.map((label, i) => {
    const name = ABILITY_NAME.test(label) && !taken.has(label) ? label : `label_${i}`;
    taken.add(name);
    return name;
  });
}

/**
 * Learning from use without forgetting (R17): thousands of reaches through the router itself and the statistics that the
 * platform keeps, on a clock of our own. Everything random comes from a seed. docs/routing.md quotes the figures.
 */
import { LocalStats } from '../../src/registry/stats/local-stats';
import { mergeDigests } from '../../src/registry/stats/series';
import { seriesKey } from '../../src/registry/stats/agent-digest';
import type { Clock } from '../../src/registry';
import { DEFAULT_ROUTER_CONFIG, Router, type RouterConfig } from '../../src/routing';
import type { AbilityText, Match, Matcher } from '../../src/protocol/matching';
import { agent, request, seededRandom, world } from './fixtures';

const HALF_LIFE_MS = 600_000;
const MINUTE_MS = 60_000;

/** How an agent behaves. */
interface Behaviour {
  /** Of 0–1. */
  failureRate: number;
  latencyMs: number;
  /** Log-scale distance to the text asked for; 0 is as near as can be. */
  distance?: number;
}

interface Tally {
  calls: number;
  failures: number;
}

/** Agents that offer one ability, the calls that they get, and the time that passes. */
class Simulation {
  private nowMs = 0;
  private readonly random: () => number;
  private readonly stats: LocalStats;
  private readonly router: Router;
  readonly behaviours: Record<string, Behaviour>;

  constructor(behaviours: Record<string, Behaviour>, config: Partial<RouterConfig> = {}, seed = 1) {
    this.behaviours = { ...behaviours };
    this.random = seededRandom(seed);
    const clock: Clock = { monotonicMs: () => this.nowMs, wall: () => new Date(this.nowMs) };
    this.stats = new LocalStats(clock, HALF_LIFE_MS);
    const described = Object.entries(behaviours).map(([name, { distance = 0 }]) =>
      agent({ name, version: '1.0.0', capabilities: [{ name: 'work', description: `distance ${distance}` }] }),
    );
    const view = world({ agents: described });
    view.stats = { ability: (name) => this.statsOf(name), instance: () => null };
    const settings = { ...DEFAULT_ROUTER_CONFIG, ...config };
    this.router = new Router({ world: () => view, matcher: byDistance, config: settings, random: this.random });
  }

  /** Makes calls evenly over a time, and answers who got how many. */
  async run(minutes: number, perMinute: number): Promise<Record<string, Tally>> {
    const tally = Object.fromEntries(Object.keys(this.behaviours).map((name) => [name, { calls: 0, failures: 0 }]));
    for (let call = 0; call < minutes * perMinute; call++) {
      this.nowMs += MINUTE_MS / perMinute;
      const name = await this.call();
      tally[name.agent]!.calls += 1;
      if (name.failed) tally[name.agent]!.failures += 1;
    }
    return tally;
  }

  /** Calls until an agent leads by score, in minutes; `limit` if it does not within it. */
  async minutesUntilLeads(name: string, perMinute: number, limit: number): Promise<number> {
    for (let minute = 1; minute <= limit; minute++) {
      await this.run(1, perMinute);
      if ((await this.router.explain(REQUEST)).agent_name === name) return minute;
    }
    return limit;
  }

  pass(minutes: number): void {
    this.nowMs += minutes * MINUTE_MS;
  }

  scores(): Promise<Record<string, number>> {
    return this.router
      .explain(REQUEST)
      .then(({ candidates }) => Object.fromEntries(candidates.map(({ agent_name, score }) => [agent_name, score])));
  }

  private async call(): Promise<{ agent: string; failed: boolean }> {
    const { chosen } = await this.router.route(REQUEST);
    const { failureRate, latencyMs } = this.behaviours[chosen.agent_name]!;
    const failed = this.random() < failureRate;
    const durationMs = latencyMs * (0.8 + 0.4 * this.random());
    const key = { agentName: chosen.agent_name, agentVersion: '1.0.0', ability: 'work', instanceId: null };
    this.stats.record({ ...key, durationMs, outcome: failed ? 'failure' : 'ok' });
    return { agent: chosen.agent_name, failed };
  }

  private statsOf(name: string) {
    const series = this.stats.get(name, seriesKey(name, { version: '1.0.0', ability: 'work' }));
    if (!series) return null;
    series.expire(this.nowMs);
    const weighing = { nowMs: this.nowMs, halfLifeMs: HALF_LIFE_MS };
    return mergeDigests([series.digest(weighing)], weighing);
  }
}

const REQUEST = request({ ability: 'work', payload: { text: 'x' } });

/** Reads how far a description is from the text out of the description. */
const byDistance: Matcher = {
  prepare: async () => {},
  similarities: async (_text: string, abilities: readonly AbilityText[]): Promise<Match[]> =>
    abilities.map(({ texts }, position) => {
      const closeness = -Number(texts[0]!.replace('distance ', ''));
      return { position, cosine: Math.exp(closeness), closeness, fit: 1, by: 'dense', degraded: false };
    }),
};

const share = (tally: Record<string, Tally>, name: string) =>
  tally[name]!.calls / Object.values(tally).reduce((sum, { calls }) => sum + calls, 0);
const SOUND = { failureRate: 0.01, latencyMs: 200 };
const withReliability = (weight: number): Partial<RouterConfig> => ({
  weights: { semantic_similarity: 0.8 - weight, latency_score: 0.2, reliability_score: weight },
});

describe('no starvation', () => {
  test('equal agents all get calls from the first minute on, and over a day none is left behind', async () => {
    const simulation = new Simulation({ a: SOUND, b: SOUND, c: SOUND, d: SOUND });
    const first = await simulation.run(1, 60);
    for (const name of 'abcd') expect(first[name]!.calls).toBeGreaterThan(0);
    const day = await simulation.run(24 * 60, 4);
    // At least its part of the exploration: 0.1 among three others.
    for (const name of 'abcd') expect(share(day, name)).toBeGreaterThan(0.025);
  });

  test('agents with the same score share by lot, whatever their names', async () => {
    const still = new Simulation({ a: SOUND, b: SOUND, c: SOUND }, { enabledFactors: ['semantic_similarity'] });
    const tally = await still.run(50, 60);
    for (const name of 'abc') expect(share(tally, name)).toBeCloseTo(1 / 3, 1);
  });

  test('an agent that got well wins its calls back: the better one leads again within 30 minutes', async () => {
    const simulation = new Simulation({ a: { failureRate: 0.01, latencyMs: 50 }, b: SOUND });
    expect(share(await simulation.run(30, 60), 'a')).toBeGreaterThan(0.85);
    simulation.behaviours.a = { failureRate: 0.9, latencyMs: 50 };
    const ill = await simulation.run(30, 60);
    expect(share(ill, 'b')).toBeGreaterThan(0.8); // it is found out
    simulation.behaviours.a = { failureRate: 0.01, latencyMs: 50 };
    expect(await simulation.minutesUntilLeads('a', 60, 90)).toBeLessThanOrEqual(30);
    expect(share(await simulation.run(30, 60), 'a')).toBeGreaterThan(0.85);
  });

  test('a bad record fades without any traffic, and a good one does as well', async () => {
    const simulation = new Simulation({ a: { failureRate: 1, latencyMs: 200 }, b: SOUND });
    await simulation.run(10, 60);
    const after = await simulation.scores();
    expect(after.b! - after.a!).toBeGreaterThan(0.05);
    simulation.pass(120);
    const later = await simulation.scores();
    expect(Math.abs(later.b! - later.a!)).toBeLessThan(0.01);
  });

  test('an agent that was slow is tried again when its latencies are too old to count', async () => {
    const simulation = new Simulation({ a: { failureRate: 0, latencyMs: 4_000 }, b: SOUND });
    await simulation.run(3, 60);
    simulation.behaviours.a = { failureRate: 0, latencyMs: 50 };
    expect(await simulation.minutesUntilLeads('a', 60, 30)).toBeLessThanOrEqual(10);
  });
});

describe('no capture', () => {
  const incumbents = { b: SOUND, c: SOUND, d: SOUND };

  test('a newcomer as good as the others gets its part of the exploration at once and for good', async () => {
    const simulation = new Simulation({ ...incumbents, z: SOUND });
    const first = await simulation.run(10, 60);
    expect(first.z!.calls).toBeGreaterThanOrEqual(10);
    const day = await simulation.run(24 * 60, 4);
    expect(share(day, 'z')).toBeGreaterThan(0.025);
  });

  test('a better newcomer leads within 10 minutes', async () => {
    const simulation = new Simulation({ ...incumbents, z: { failureRate: 0.01, latencyMs: 50 } });
    expect(await simulation.minutesUntilLeads('z', 60, 60)).toBeLessThanOrEqual(10);
  });

  test('a bad newcomer is found out: few calls fail for it, and fast failures do not make it look fast', async () => {
    const simulation = new Simulation({ ...incumbents, z: { failureRate: 1, latencyMs: 1 } });
    await simulation.run(5, 60);
    const hour = await simulation.run(60, 60);
    expect(share(hour, 'z')).toBeLessThan(0.02);
  });

  test('what is fast but wrong never wins: a factor of 1.5 in similarity outweighs any latency', async () => {
    for (const seed of [1, 2, 3]) {
      const wrong = { failureRate: 0, latencyMs: 1, distance: 0.5 };
      const simulation = new Simulation({ right: { failureRate: 0, latencyMs: 20_000 }, wrong }, {}, seed);
      await simulation.run(20, 60);
      expect(share(await simulation.run(20, 60), 'right')).toBeGreaterThan(0.85);
    }
  });
});

describe('a reliability weight over 0.3 starves (R38)', () => {
  /** Calls of the next hour that an agent gets which failed every call before, beside one without a fault. */
  const callsOfMended = async (weight: number) => {
    const simulation = new Simulation({ a: { failureRate: 0, latencyMs: 200 }, z: SOUND }, withReliability(weight));
    const late = simulation.behaviours.z!;
    simulation.behaviours.z = { ...late, failureRate: 1 };
    await simulation.run(20, 60); // everybody has a record, that of z is bad
    simulation.behaviours.z = late; // it is mended
    return (await simulation.run(60, 60)).z!.calls;
  };

  test('the greater the weight, the fewer calls a mended agent gets in the next hour', async () => {
    const [usual, most, over] = [await callsOfMended(0.2), await callsOfMended(0.3), await callsOfMended(0.6)];
    expect(usual).toBeGreaterThan(100);
    expect(most).toBeGreaterThan(100);
    expect(over).toBe(0);
  });
});

test('the same seed makes the same choices', async () => {
  const run = (seed: number) => new Simulation({ a: SOUND, b: SOUND, c: SOUND }, {}, seed).run(20, 60);
  expect(await run(5)).toEqual(await run(5));
  expect(await run(5)).not.toEqual(await run(6));
});

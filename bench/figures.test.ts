import { BlockLog, ratiosOf, type Figures } from './figures';
import { judge, meets, TARGETS } from './targets';

function log(scale: number): BlockLog {
  const blocks = new BlockLog();
  for (let round = 0; round < 2; round += 1) {
    blocks.latency.push({ latenciesMs: [10, 20, 30].map((ms) => ms * scale), elapsedMs: 60 * scale });
    blocks.throughput.push({ latenciesMs: [50, 50], elapsedMs: 100 * scale });
    blocks.paced.push({ latenciesMs: [15 * scale], elapsedMs: 100 });
    blocks.cpu.latency.push({ driver: 3, worker: 6, server: 9 });
    blocks.cpu.throughput.push({ driver: 2, worker: 4, server: 8 });
  }
  return blocks;
}

describe('the figures of a contender', () => {
  it('pool the rounds, and keep each', () => {
    const figures = log(1).figures();
    expect(figures.latency).toEqual({ requests: 6, p50_ms: 20, p95_ms: 30, p99_ms: 30 });
    expect(figures.paced.p50_ms).toBe(15);
    expect(figures.throughput_per_s).toBe(20);
    expect(figures.rounds).toEqual(Array(2).fill({ p50_ms: 20, throughput_per_s: 20, paced_p50_ms: 15 }));
  });

  it('share the CPU time among the requests', () => {
    expect(log(1).figures().cpu_ms_per_request).toEqual({
      one_at_a_time: { driver: 1, worker: 2, server: 3, total: 6 },
      concurrent: { driver: 1, worker: 2, server: 4, total: 7 },
    });
  });

  it('say nothing of CPU time that could not be read', () => {
    const blocks = log(1);
    blocks.cpu.latency[0] = null;
    expect(blocks.figures().cpu_ms_per_request.one_at_a_time).toBeNull();
  });
});

it('divides by plain: below 1 is better, but for the throughput', () => {
  const ratios = ratiosOf(log(0.5).figures(), log(1).figures());
  expect(ratios).toEqual({ p50_ratio: 0.5, p95_ratio: 0.5, p99_ratio: 0.5, paced_p50_ratio: 0.5, throughput_ratio: 2 });
});

describe('judge', () => {
  const figures = {
    reach_vs_plain: { p50_ratio: 0.6, p95_ratio: 9, p99_ratio: 0.91, paced_p50_ratio: 0.1, throughput_ratio: 1.39 },
    regular_vs_plain: { p50_ratio: 1, p95_ratio: 9, p99_ratio: 9, paced_p50_ratio: 9, throughput_ratio: 0.9 },
    nested_vs_reach: { p50_ratio: 1.2 },
    routing: {
      p50_ms: 0.5,
      p99_ms: 1,
      ten_thousand: { p99_ms: 2, startup_ms: 20_000, bytes_per_ability: 800 },
    },
    memory: { idle_mb: null, after_load_mb: null },
  } as unknown as Figures;

  it('counts the limit itself as met, on either side, and what is unknown as neither', () => {
    const met = Object.fromEntries(judge(figures).map((verdict) => [verdict.figure, verdict.met]));
    expect(met).toEqual({
      'reach_vs_plain.p50_ratio': true,
      'reach_vs_plain.p99_ratio': false,
      'reach_vs_plain.paced_p50_ratio': true,
      'reach_vs_plain.throughput_ratio': false,
      'regular_vs_plain.p50_ratio': true,
      'regular_vs_plain.throughput_ratio': true,
      'nested_vs_reach.p50_ratio': false,
      'routing.p99_ms': true,
      'routing.ten_thousand.p99_ms': true,
      'routing.ten_thousand.startup_ms': false,
      'routing.ten_thousand.bytes_per_ability': true,
      'memory.idle_mb': null,
    });
  });

  it('refuses a target without a figure', () => {
    const target = { ...TARGETS[0]!, figure: 'reach_vs_plain.nonsense' };
    expect(() => judge(figures, [target])).toThrow('There is no figure reach_vs_plain.nonsense');
  });

  it('knows which side is good', () => {
    expect(meets(1, { figure: '', limit: 2, bound: 'at_most' })).toBe(true);
    expect(meets(1, { figure: '', limit: 2, bound: 'at_least' })).toBe(false);
  });
});

import type { RoutingSpeed } from './routing-speed';
import type { ContenderName } from './contenders';
import type { HistoryFigure } from './history';
import type { Block } from './load';
import type { Machine } from './machine';
import type { NestedCost } from './nested-cost';
import type { Plan } from './plan';
import { latencyOf, rounded, type Latency } from './statistics';

/** CPU time per request by process, ms. The driver is who calls; the worker is the plain worker or the gateway. */
export interface CpuFigure {
  driver: number;
  worker: number;
  server: number;
  total: number;
}

/** What was measured of one contender. */
export interface ContenderFigures {
  /** One request at a time, each as soon as the last is answered. */
  latency: Latency;
  /** One request at a time with think time between. */
  paced: Latency;
  throughput_per_s: number;
  /** null where /proc does not tell. */
  cpu_ms_per_request: { one_at_a_time: CpuFigure | null; concurrent: CpuFigure | null };
  /** The same figures round by round: how far they may be trusted. */
  rounds: { p50_ms: number; throughput_per_s: number; paced_p50_ms: number }[];
}

/** A contender's figures divided by plain's; below 1 is better, but for the throughput. */
export interface Ratios {
  p50_ratio: number;
  p95_ratio: number;
  p99_ratio: number;
  paced_p50_ratio: number;
  throughput_ratio: number;
}

/** The whole result, as in `bench/results/latest.json`. */
export interface Figures extends Record<ContenderName, ContenderFigures> {
  measured_at: string;
  machine: Machine;
  plan: Plan;
  agents: number;
  embeddings: string;
  reach_vs_plain: Ratios;
  regular_vs_plain: Ratios;
  nested_vs_reach: NestedCost;
  routing: RoutingSpeed;
  /** Gateway with its worker, resident, MB: left alone after its start; right after all the load. */
  memory: { idle_mb: number | null; after_load_mb: number | null };
  /** `receipt`: the caller takes a receipt and polls. */
  history: Record<ContenderName | 'receipt', HistoryFigure>;
}

/** CPU time that the processes used during some requests, ms; null where it is not known. */
export type CpuUse = Omit<CpuFigure, 'total'> | null;

/** The blocks of one contender, one of each kind per round. */
export class BlockLog {
  readonly latency: Block[] = [];
  readonly throughput: Block[] = [];
  readonly paced: Block[] = [];
  readonly cpu = { latency: [] as CpuUse[], throughput: [] as CpuUse[] };

  /** @throws RangeError when nothing was measured */
  figures(): ContenderFigures {
    return {
      latency: latencyOf(all(this.latency)),
      paced: latencyOf(all(this.paced)),
      throughput_per_s: throughputOf(this.throughput),
      cpu_ms_per_request: {
        one_at_a_time: cpuPerRequest(this.cpu.latency, all(this.latency).length),
        concurrent: cpuPerRequest(this.cpu.throughput, all(this.throughput).length),
      },
      rounds: this.latency.map((block, round) => ({
        p50_ms: latencyOf(block.latenciesMs).p50_ms,
        throughput_per_s: throughputOf(this.throughput.slice(round, round + 1)),
        paced_p50_ms: latencyOf(this.paced[round]?.latenciesMs ?? []).p50_ms,
      })),
    };
  }
}

/** Ratios of `contender` to `plain`. */
export function ratiosOf(contender: ContenderFigures, plain: ContenderFigures): Ratios {
  const ratio = (a: number, b: number) => rounded(a / b, 3);
  return {
    p50_ratio: ratio(contender.latency.p50_ms, plain.latency.p50_ms),
    p95_ratio: ratio(contender.latency.p95_ms, plain.latency.p95_ms),
    p99_ratio: ratio(contender.latency.p99_ms, plain.latency.p99_ms),
    paced_p50_ratio: ratio(contender.paced.p50_ms, plain.paced.p50_ms),
    throughput_ratio: ratio(contender.throughput_per_s, plain.throughput_per_s),
  };
}

function all(blocks: readonly Block[]): number[] {
  return blocks.flatMap(({ latenciesMs }) => latenciesMs);
}

function throughputOf(blocks: readonly Block[]): number {
  const elapsedMs = blocks.reduce((sum, block) => sum + block.elapsedMs, 0);
  return rounded((all(blocks).length * 1_000) / elapsedMs, 1);
}

function cpuPerRequest(uses: readonly CpuUse[], requests: number): CpuFigure | null {
  const sum = { driver: 0, worker: 0, server: 0 };
  for (const use of uses) {
    if (use === null) return null;
    for (const part of ['driver', 'worker', 'server'] as const) sum[part] += use[part] / requests;
  }
  const { driver, worker, server } = sum;
  const figure = { driver, worker, server, total: driver + worker + server };
  return Object.fromEntries(Object.entries(figure).map(([part, ms]) => [part, rounded(ms, 2)])) as unknown as CpuFigure;
}

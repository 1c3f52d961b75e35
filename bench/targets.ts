import type { Figures, Ratios } from './figures';

/** What a figure should be at most (or at least). Missing one is news, not a failure. */
export interface Target {
  /** Path of the figure in the result, such as `reach_vs_plain.p50_ratio`. */
  figure: string;
  limit: number;
  bound: 'at_most' | 'at_least';
}

/** A target with what was measured; `met` is null where the figure is not known on this machine. */
export interface Verdict extends Target {
  value: number | null;
  met: boolean | null;
}

const atMost = (figure: string, limit: number): Target => ({ figure, limit, bound: 'at_most' });
const atLeast = (figure: string, limit: number): Target => ({ figure, limit, bound: 'at_least' });

/** Measured to be within reach on two cores with a prototype of the whole path; see ARCHITECTURE.md. */
export const TARGETS: readonly Target[] = [
  atMost('reach_vs_plain.p50_ratio', 0.6),
  atMost('reach_vs_plain.p99_ratio', 0.9),
  atMost('reach_vs_plain.paced_p50_ratio', 0.8),
  atLeast('reach_vs_plain.throughput_ratio', 1.4),
  atMost('regular_vs_plain.p50_ratio', 1.05),
  atLeast('regular_vs_plain.throughput_ratio', 0.9),
  atMost('nested_vs_reach.p50_ratio', 1.1),
  atMost('routing.p99_ms', 2),
  atMost('routing.ten_thousand.p99_ms', 20),
  atMost('routing.ten_thousand.startup_ms', 10_000),
  atMost('routing.ten_thousand.bytes_per_ability', 1024),
  atMost('memory.idle_mb', 250),
];

/** Holds the figures against the targets. */
export function judge(figures: Figures, targets: readonly Target[] = TARGETS): Verdict[] {
  return targets.map((target) => {
    const value = valueAt(figures, target.figure);
    return { ...target, value, met: value === null ? null : meets(value, target) };
  });
}

/** The target of one ratio, if it has one. */
export function targetOf(pair: 'reach_vs_plain' | 'regular_vs_plain', ratio: keyof Ratios): Target | undefined {
  return TARGETS.find(({ figure }) => figure === `${pair}.${ratio}`);
}

/** Whether a value is on the right side of its target; the limit itself is. */
export function meets(value: number, { limit, bound }: Target): boolean {
  return bound === 'at_most' ? value <= limit : value >= limit;
}

function valueAt(figures: Figures, path: string): number | null {
  const value = path
    .split('.')
    .reduce<unknown>((from, key) => (from as Record<string, unknown> | undefined)?.[key], figures);
  if (value === null || typeof value === 'number') return value;
  throw new RangeError(`There is no figure ${path}`);
}

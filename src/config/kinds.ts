/** The kinds of values that settings are made of. */
import { z } from 'zod';

/** `15s`, `250ms`, `2m`, `1h`, or a number of milliseconds. */
export const duration = z
  .union([z.number().int().min(0), z.string().regex(/^\d+(\.\d+)?(ms|s|m|h)$/, 'a duration such as 250ms, 15s or 2m')])
  .transform((value) => {
    if (typeof value === 'number') return value;
    const unit = /[a-z]+$/.exec(value)?.[0] as keyof typeof UNIT_MS;
    return Math.round(Number.parseFloat(value) * UNIT_MS[unit]);
  });
const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const;

/** Node's timers overflow above 2³¹ − 1 ms and then fire at once, again and again. */
const LONGEST_TIMER_MS = 24 * 86_400_000;

/** A duration that something waits for: neither so short that a loop spins nor longer than a timer can be, 24 days. */
export const interval = (leastMs: number) =>
  duration.refine((ms) => ms >= leastMs && ms <= LONGEST_TIMER_MS, `must be from ${inWords(leastMs)} to 576h`);

function inWords(ms: number): string {
  return ms % 1_000 === 0 && ms > 0 ? `${ms / 1_000}s` : `${ms}ms`;
}

/** A part of a whole, 0–1. */
export const share = z.number().min(0).max(1);
/** A TCP port; 0 takes a free one. */
export const port = z.number().int().min(0).max(65_535);
/** How an agent is chosen among those that fit (R17, R19). */
export const strategy = z.enum(['score_based', 'round_robin', 'random']);
/** A factor of the score (R17). */
export const factor = z.enum(['semantic_similarity', 'latency_score', 'reliability_score']);

/** Weights of a score: none negative, and at least one above zero, or every candidate would score the same. */
export const weights = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.strictObject(shape).refine((value) => Object.values(value as Record<string, number>).some((weight) => weight > 0), {
    message: 'at least one weight must be above 0',
  });

/** An explicit routing rule (R19). */
export const rule = z.strictObject({
  ability: z.string().optional(),
  group: z.string().optional(),
  metadata: z.record(z.string(), z.string()).optional(),
  payload: z.strictObject({ pointer: z.string().startsWith('/'), equals: z.json() }).optional(),
  agent: z.string().regex(/^[a-z0-9_-]{1,64}(#.+)?$/, 'an agent name, or name#version'),
});

/** A group of settings, all of which have defaults. */
export const section = <Shape extends z.ZodRawShape>(shape: Shape) => z.strictObject(shape).prefault({} as never);

import { z } from 'zod';

/** The answer of an OpenAI-compatible `/embeddings`; members that we do not need are let through. */
const answerSchema = z.object({
  data: z.array(z.object({ index: z.number().int().nonnegative(), embedding: z.array(z.number()).min(1).max(16_384) })),
});

/**
 * The vectors of an answer, in the order asked for, scaled to length 1.
 * @throws Error when one is missing, has no length or another number of dimensions than the rest.
 */
export function readVectors(answer: unknown, count: number): Float32Array[] {
  const { data } = answerSchema.parse(answer);
  const byIndex = new Map(data.map(({ index, embedding }) => [index, embedding]));
  const vectors = Array.from({ length: count }, (_, i) => toUnit(byIndex.get(i)));
  if (vectors.some((vector) => vector.length !== vectors[0]!.length)) throw new Error('vectors of different lengths');
  return vectors;
}

function toUnit(values: number[] | undefined): Float32Array {
  if (!values) throw new Error('fewer vectors than texts');
  const length = Math.hypot(...values);
  if (!(length > 0) || !Number.isFinite(length)) throw new Error('a vector without length');
  return Float32Array.from(values, (value) => value / length);
}

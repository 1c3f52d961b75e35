/** Distribution functions that estimates need, in closed form: quick enough for every acceptance. */

/** Standard normal distribution function; absolute error under 1.5e-7 (Abramowitz & Stegun 7.1.26). */
export function normalCdf(z: number): number {
  const x = Math.abs(z) / Math.SQRT2;
  const t = 1 / (1 + 0.3275911 * x);
  const poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  const tail = 0.5 * poly * Math.exp(-x * x);
  return z >= 0 ? 1 - tail : tail;
}

/**
 * Distribution function of a gamma variable by Wilson and Hilferty's cube root ("The distribution of chi-square", PNAS 17, 1931):
 * within 0.02 for shapes of 0.5 and more. Falls as the shape grows, as it must.
 *
 * @param shape above 0; a sum of n waits of variance v and mean m has n·m²/v
 */
export function gammaCdf(x: number, { shape, scale }: { shape: number; scale: number }): number {
  if (x <= 0 || scale <= 0) return x < 0 ? 0 : scale <= 0 ? 1 : 0;
  const root = Math.cbrt(x / scale / shape);
  return normalCdf(3 * Math.sqrt(shape) * (root - 1 + 1 / (9 * shape)));
}

/**
 * The most a probability can be, at 95 % confidence one-sided, when it was estimated as `share` from `samples` cases (E. B. Wilson,
 * "Probable inference", JASA 22, 1927). 1 for no cases at all.
 */
export function wilsonUpper(share: number, samples: number): number {
  if (samples <= 0) return 1;
  const z2 = 1.6449 ** 2;
  const centre = share + z2 / (2 * samples);
  const spread = Math.sqrt(z2 * ((share * (1 - share)) / samples + z2 / (4 * samples ** 2)));
  return Math.min(1, (centre + spread) / (1 + z2 / samples));
}

/** Positions with the highest scores, best first, taking only what `accept` takes; ties keep the lower position. */
export function bestPositions(
  scores: ArrayLike<number>,
  limit: number,
  accept: (position: number) => boolean,
): number[] {
  const best: number[] = [];
  if (limit <= 0) return best;
  for (let position = 0; position < scores.length; position++) {
    const score = scores[position]!;
    const full = best.length === limit;
    if (full && score <= scores[best[limit - 1]!]!) continue;
    if (!accept(position)) continue;
    if (full) best.pop();
    best.splice(insertionPoint(best, scores, score), 0, position);
  }
  return best;
}

function insertionPoint(best: readonly number[], scores: ArrayLike<number>, score: number): number {
  let low = 0;
  let high = best.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (scores[best[middle]!]! >= score) low = middle + 1;
    else high = middle;
  }
  return low;
}

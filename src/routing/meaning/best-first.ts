/** Positions with the highest scores, best first, taking only what `accept` takes; ties keep the lower position. */
export function bestPositions(
  scores: ArrayLike<number>,
  limit: number,
  accept: (position: number) => boolean,
): number[] {
  const size = Math.max(0, Math.min(limit, scores.length));
  const best = new Int32Array(size);
  let count = 0;
  if (size === 0) return [];
  for (let position = 0; position < scores.length; position++) {
    const score = scores[position]!;
    if (count === size && score <= scores[best[size - 1]!]!) continue;
    if (!accept(position)) continue;
    const place = insertionPoint(best, count, { scores, score });
    best.copyWithin(place + 1, place, Math.min(count, size - 1));
    best[place] = position;
    count = Math.min(count + 1, size);
  }
  return Array.from(best.subarray(0, count));
}

/** Behind all that score at least as much. */
function insertionPoint(
  best: Int32Array,
  count: number,
  { scores, score }: { scores: ArrayLike<number>; score: number },
): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (scores[best[middle]!]! >= score) low = middle + 1;
    else high = middle;
  }
  return low;
}

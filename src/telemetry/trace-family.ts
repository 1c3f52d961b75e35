import type { TraceHop } from '../protocol/shapes';

/** A nested reach and when it began, Unix ms. */
export interface TracedChild {
  reachId: string;
  startMs: number;
}

/**
 * A trace with what its own history does not tell: the reaches that the agents made, each at the attempt it was made in, and
 * results that came when the reach was over. Pure.
 */
export function withFamily(
  hops: readonly TraceHop[],
  children: readonly TracedChild[],
  late: readonly { at: string; attempt: number }[],
): TraceHop[] {
  const byHop = new Map<number, string[]>();
  for (const { reachId, startMs } of children) {
    const at = hopAt(hops, startMs);
    if (at >= 0) byHop.set(at, [...(byHop.get(at) ?? []), reachId]);
  }
  const own = hops.map((hop, index) => {
    const nested = byHop.get(index);
    return nested ? { ...hop, children: nested } : hop;
  });
  return [...own, ...late.map(lateHop)];
}

/** The last call that had begun by then: an agent may go on after its attempt was given up. */
function hopAt(hops: readonly TraceHop[], startMs: number): number {
  const begun = (hop: TraceHop) => hop.name === 'invoke' && Date.parse(hop.started_at) <= startMs;
  const last = hops.findLastIndex(begun);
  // Clocks differ a little, and a call that still runs is no hop yet.
  const first = hops.findIndex(({ name }) => name === 'invoke');
  return last >= 0 ? last : first >= 0 ? first : hops.length - 1;
}

function lateHop({ at, attempt }: { at: string; attempt: number }): TraceHop {
  return {
    name: 'wait_result',
    started_at: at,
    duration_ms: 0,
    attempt,
    outcome: 'discarded',
    reason: 'a result that came when the reach was over; it was given to nobody',
  };
}

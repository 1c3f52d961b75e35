/**
 * Erlang's formulas for c servers and Poisson arrivals. Source: A. K. Erlang, "Solution of some problems in the theory of
 * probabilities of significance in automatic telephone exchanges" (1917); the recursions as in R. B. Cooper, "Introduction to
 * Queueing Theory" (2nd ed., 1981), ch. 3. The recursion adds and divides positive numbers only, so it neither overflows nor
 * cancels, whatever the number of servers.
 */

/**
 * Share of arrivals that find all servers taken and are lost (M/G/c/c), 0–1.
 *
 * @param servers whole number ≥ 0
 * @param load offered load in erlangs, arrivals per service time
 */
export function erlangB(servers: number, load: number): number {
  if (load <= 0) return servers === 0 ? 1 : 0;
  let blocked = 1;
  for (let n = 1; n <= servers; n += 1) blocked = nextErlangB(blocked, n, load);
  return blocked;
}

/** Erlang B of `servers` from that of one server less. */
export function nextErlangB(blocked: number, servers: number, load: number): number {
  return (load * blocked) / (servers + load * blocked);
}

/** Share of arrivals that must wait (M/M/c), 0–1; 1 where the load is more than the servers can carry. */
export function erlangC(servers: number, load: number): number {
  return waitingShare(erlangB(servers, load), servers, load);
}

/** Erlang C from Erlang B: C = B / (1 − ρ (1 − B)). */
export function waitingShare(blocked: number, servers: number, load: number): number {
  if (load <= 0) return 0;
  if (load >= servers) return 1;
  const utilisation = load / servers;
  return Math.min(1, blocked / (1 - utilisation * (1 - blocked)));
}

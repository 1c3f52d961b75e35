/** How an agent is reached: an HTTP server, a Temporal worker or a consumer of a queue. All run calls through the same `CallRunner`. */
export interface AgentHost {
  /** Ends the taking of new calls (the runner says `draining` by then) and resolves when those in hand are over, at the latest some seconds after `graceMs`. */
  drain(graceMs: number): Promise<void>;
  /** Rejects if the host dies by itself; never resolves before `drain`. */
  readonly ended: Promise<void>;
}

/**
 * Reaches that call each other (R10): what a nested reach inherits from the one whose agent made it. Plain data, written into
 * workflow inputs, memos and reach tokens.
 */

/** Longest chain of reaches below each other, the first included, unless `nesting.max_depth` says otherwise. */
export const DEFAULT_MAX_DEPTH = 8;

/** Retries that a tree of reaches shares (R27). */
export interface TreeBudget {
  /** Run that the tree grew from; a redrive of it is a new tree. */
  run: string;
  /** `max_total_retries` of its first reach. */
  limit: number;
  /** When the time of its first reach ends, Unix ms by the server's clock. Absent in trees of an earlier release. */
  ends_ms?: number;
}

/** Where a nested reach stands. */
export interface Lineage {
  /** Reach id that the tree grew from. */
  root: string;
  tree: TreeBudget;
  /** Reach id of the one whose agent made this one. */
  parent: string;
  parent_run: string;
  /** `agent/ability` of every call above, the first reach's first. */
  chain: string[];
}

/** What an agent's call hands down to the reaches that the agent makes. */
export interface Inheritance extends Omit<Lineage, 'tree'> {
  tree: TreeBudget;
  agent_name: string;
  /** The version that was called; absent in tokens of an earlier release. */
  agent_version?: string;
  trace_id: string;
  context_id: string | null;
  group: string;
}

/** A link of a chain. Neither part can hold a slash. */
export function linkOf(agentName: string, ability: string): string {
  return `${agentName}/${ability}`;
}

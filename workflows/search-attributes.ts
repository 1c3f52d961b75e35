/** Search attributes of a reach; they must be registered with the namespace (SQLite visibility has ten Keyword slots). */
export const SEARCH_ATTRIBUTES = {
  ReachAbility: 'Keyword',
  ReachAgent: 'Keyword',
  ReachVersion: 'Keyword',
  ReachSource: 'Keyword',
  ReachStatus: 'Keyword',
  ReachParent: 'Keyword',
} as const;

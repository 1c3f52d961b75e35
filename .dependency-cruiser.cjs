/**
 * The import table of ARCHITECTURE.md as rules. Each room may import itself, npm packages, and the rooms listed.
 */
const rooms = {
  protocol: [],
  policy: ['protocol'],
  routing: ['protocol', 'policy'],
  registry: ['protocol', 'policy'],
  embeddings: ['protocol', 'policy'],
  adapters: ['protocol', 'policy'],
  payloads: ['protocol', 'policy'],
  // The Context Store uses the registry's etcd client, leases and keyspace; nothing else of it. Large values are blobs.
  context: ['protocol', 'policy', 'payloads', 'registry/etcd', 'registry/keys.ts', 'registry/clock.ts'],
  telemetry: ['protocol', 'policy'],
  config: ['protocol', 'policy'],
  engines: ['protocol'],
  // The decision log is kept in the store of large payloads.
  decisions: ['protocol', 'policy', 'payloads'],
  gateway: ['protocol', 'policy', 'registry', 'routing', 'embeddings', 'payloads', 'decisions', 'telemetry', 'config'],
  sdk: ['protocol', 'policy'],
  cli: ['sdk', 'protocol', 'routing', 'engines', 'config'],
};

/** An entry point of its own, for agents that reach etcd themselves. */
const DIRECT_STORE = '^src/sdk/dedup/etcd\\.ts$';

const roomRules = Object.entries(rooms).map(([room, allowed]) => ({
  name: `room-${room}`,
  severity: 'error',
  comment: `src/${room} may import: ${allowed.join(', ') || 'nothing else inside'}`,
  from: { path: `^src/${room}/`, pathNot: ['\\.test\\.ts$', ...(room === 'sdk' ? [DIRECT_STORE] : [])] },
  to: {
    path: '^(src|workflows|activities)/',
    pathNot: [
      `^src/${room}/`,
      ...allowed.map((name) => `^src/${name}(/|$)`),
      ...(room === 'gateway' ? ['^workflows/(publish-)?messages\\.ts$'] : []),
    ],
  },
}));

module.exports = {
  forbidden: [
    ...roomRules,
    {
      name: 'workflows-are-pure',
      severity: 'error',
      comment:
        'Workflow code is deterministic: it may run protocol and policy only (types from anywhere listed are erased).',
      from: { path: '^workflows/', pathNot: '\\.test\\.ts$' },
      to: { path: '^(src|activities)/', pathNot: ['^src/(protocol|policy)/'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'workflows-packages',
      severity: 'error',
      comment: 'Only the workflow SDK may be bundled; zod alone makes the bundle 4 MB.',
      from: { path: '^workflows/', pathNot: '\\.test\\.ts$' },
      to: {
        dependencyTypes: ['npm', 'npm-dev', 'core'],
        pathNot: 'node_modules/@temporalio/(workflow|common)/',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'activities-imports',
      severity: 'error',
      from: { path: '^activities/', pathNot: '\\.test\\.ts$' },
      to: { path: '^src/(gateway|sdk|cli|console|engines)/' },
    },
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'roots-are-not-imported',
      severity: 'error',
      comment: 'gateway.ts, worker.ts and dev.ts are composition roots.',
      from: { path: '^(src|workflows|activities)/' },
      to: { path: '^src/(gateway|worker|dev)\\.ts$' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['require', 'node', 'default'] },
  },
};

import type { EngineName } from './types';

/** How to do without the embedded engine, by engine. */
export const INSTEAD: Record<EngineName, string> = {
  temporal: 'Or configure the address of a Temporal server that already runs (TEMPORAL_ADDRESS).',
  'temporal-test-server': 'Or put a temporal-test-server executable on PATH.',
  etcd: 'Or put etcd 3.4 or newer on PATH, or configure the endpoints of an etcd that already runs.',
  embeddings:
    'Or configure an OpenAI-compatible embeddings endpoint (base URL, model, key); without one, routing compares words.',
};

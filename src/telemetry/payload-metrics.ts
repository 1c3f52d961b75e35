import { Counter, Gauge, type Registry } from 'prom-client';

/** Metrics of large payloads (R8). */
export interface PayloadMetrics {
  /** What a look through the store has found and removed. */
  counted(counts: { blobs: number; bytes: number; removed: number }): void;
}

/** `agent_reach_payload_blobs`, `agent_reach_payload_bytes`, `agent_reach_payload_removed_total`. */
export function createPayloadMetrics(registry: Registry): PayloadMetrics {
  const registers = [registry];
  const help = 'as this gateway last found them in the store: take the maximum over the gateways';
  const blobs = new Gauge({ name: 'agent_reach_payload_blobs', help: `Large payloads, ${help}`, registers });
  const bytes = new Gauge({ name: 'agent_reach_payload_bytes', help: `Bytes of large payloads, ${help}`, registers });
  const removed = new Counter({
    name: 'agent_reach_payload_removed_total',
    help: 'Large payloads and chunks that this gateway has removed because nothing had used them for too long',
    registers,
  });
  return {
    counted(counts) {
      blobs.set(counts.blobs);
      bytes.set(counts.bytes);
      removed.inc(counts.removed);
    },
  };
}

import { createHash } from 'node:crypto';
import { chunksOf } from '../../src/protocol/payload-ref';
import { ReachAgent, type AgentHandler, type AgentLog } from '../../src/sdk/agent';
import type { Answer, Api } from '../support/api';

const silent: AgentLog = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** SHA-256, hex. */
export const sha256 = (content: Uint8Array | string): string => createHash('sha256').update(content).digest('hex');

/** An agent of the SDK with one ability of its own name. */
export async function startAgent(
  url: string,
  agent: { name: string; protocol: 'http' | 'worker'; handler: AgentHandler; capability?: object; endpoint?: object },
): Promise<ReachAgent> {
  const { name, protocol, handler, capability = {}, endpoint = {} } = agent;
  const started = new ReachAgent({
    descriptor: {
      name,
      version: '1.0.0',
      capabilities: [{ name, description: `does ${name}`, idempotent: true, ...capability }],
      endpoint: { protocol, timeout_ms: 20_000, max_retry: 0, ...endpoint },
    },
    gateway: url,
    handlers: { [name]: handler },
    log: silent,
  });
  await started.start();
  return started;
}

/** Uploads content the way any HTTP client could: chunk by chunk, in any order. */
export async function uploadChunks(
  api: Api,
  content: Uint8Array,
  {
    id,
    chunkBytes,
    order = (n: number) => n,
  }: { id: string; chunkBytes?: number; order?: (n: number, of: number) => number },
): Promise<Answer> {
  const chunks = [...chunksOf(content, chunkBytes)];
  for (let n = 0; n < chunks.length; n += 1) {
    const { sequence, bytes } = chunks[order(n, chunks.length)]!;
    const answer = await putChunk(api, { id, sequence, content: bytes });
    if (answer.status !== 200) return answer;
  }
  return api.post(`/v1/payloads/${id}:complete`, { chunks: chunks.length, sha256: sha256(content) });
}

/** `PUT` of one chunk. */
export function putChunk(
  api: Api,
  { id, sequence, content }: { id: string; sequence: number | string; content: Uint8Array },
): Promise<Answer> {
  const headers = { 'content-type': 'application/octet-stream' };
  return api.raw('PUT', `/v1/payloads/${id}/chunks/${sequence}`, Buffer.from(content), { headers });
}

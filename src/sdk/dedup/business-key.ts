import { createHash } from 'node:crypto';
import type { AgentCall } from '../../protocol/shapes';

/** What identifies a piece of work to the agent that does it. */
export type KeyedCall = Pick<AgentCall, 'ability' | 'idempotency_key' | 'message_id' | 'source_agent'>;

/**
 * The store's key of a call (R7): SHA-256 (hex) over agent, ability and business key. Parts are length-prefixed, so that
 * no two calls meet. The version is no part: what one version has done another need not do.
 *
 * A sender that gives no key is known by its message id, which is unique for that sender only; its name then belongs to
 * the key, in a domain of its own.
 */
export function businessKey(agentName: string, call: KeyedCall): string {
  const { ability, idempotency_key: key, message_id, source_agent } = call;
  const own = key === message_id ? ['message', source_agent, key] : ['keyed', key];
  const hash = createHash('sha256');
  for (const part of [agentName, ability, ...own]) hash.update(`${Buffer.byteLength(part)}:`).update(part);
  return hash.digest('hex');
}

/** Redis's errors and agents' replies → our codes (R37). */
import type { FailedAttempt } from '../../policy/retry';
import type { ErrorCode } from '../../protocol/error-codes';
import { isReply, refusalWord } from '../../protocol/redis-refusal';

/** What an error means for the attempt. */
export interface QueueFailure {
  code: ErrorCode;
  received: FailedAttempt['received'];
  says: string;
}

/** Codes by which an agent may say what went wrong; `worker_lost` is that of a message which took down whoever tried it. */
const AGENT_CODES: ReadonlySet<string> = new Set<ErrorCode>([
  'agent_rejected',
  'agent_error',
  'agent_busy',
  'agent_timeout',
  'agent_unavailable',
  'agent_protocol_error',
  'agent_response_too_large',
  'response_schema_mismatch',
  'worker_lost',
]);

/** The code of an agent's failure; one that is none of its own means that it does not speak the protocol. */
export function codeOfAgent(code: string): ErrorCode {
  return AGENT_CODES.has(code) ? (code as ErrorCode) : 'agent_protocol_error';
}

const row = (code: ErrorCode, says: string, received: FailedAttempt['received'] = 'no'): QueueFailure => ({
  code,
  says,
  received,
});

/** The word of an error that Redis replies: the command was not carried out. */
const REPLIES: Readonly<Record<string, QueueFailure>> = {
  OOM: row('agent_unavailable', 'is out of memory; raise maxmemory, or see what fills it'),
  READONLY: row('agent_unavailable', 'is a replica now; the address should lead to the primary'),
  LOADING: row('agent_unavailable', 'is loading its data'),
  BUSY: row('agent_unavailable', 'is busy with a script'),
  MASTERDOWN: row('agent_unavailable', 'has lost its primary'),
  MISCONF: row('agent_unavailable', 'cannot write to its disk'),
  NOREPLICAS: row('agent_unavailable', 'has too few replicas to write'),
  TRYAGAIN: row('agent_unavailable', 'is moving its data'),
  NOAUTH: row(
    'agent_auth_unconfigured',
    'wants a password; set auth: {type: static_token, token_env} in the descriptor',
  ),
  WRONGPASS: row('agent_auth_unconfigured', 'does not accept the user or the password of the descriptor'),
  NOPERM: row('agent_auth_unconfigured', 'does not let this user write to the queue; see docs/queue-agents.md'),
  WRONGTYPE: row('agent_protocol_error', 'has something else than a stream under the name of the queue'),
  MOVED: row('agent_protocol_error', 'is a Redis Cluster, which queues cannot live in'),
  CROSSSLOT: row('agent_protocol_error', 'is a Redis Cluster, which queues cannot live in'),
  CLUSTERDOWN: row('agent_protocol_error', 'is a Redis Cluster, which queues cannot live in'),
};

/** Failures of the network before a connection stands. */
const CONNECTS: Readonly<Record<string, QueueFailure>> = {
  ECONNREFUSED: row('agent_unavailable', 'refused the connection'),
  ENOTFOUND: row('agent_unavailable', 'has a host name that does not resolve'),
  EAI_AGAIN: row('agent_unavailable', 'has a host name that cannot be resolved right now'),
  EHOSTUNREACH: row('agent_unavailable', 'has a host that is unreachable'),
  ENETUNREACH: row('agent_unavailable', 'is in a network that is unreachable'),
  ETIMEDOUT: row('agent_unavailable', 'did not accept the connection in time'),
  EGRESS_FORBIDDEN: row('callback_url_forbidden', 'resolves to an address that may not be connected to'),
};

/** As for HTTP: Node's own codes of a failed handshake, and OpenSSL's. */
const TLS_CODE = /^(ERR_TLS|ERR_SSL|EPROTO$|UNABLE_TO_VERIFY|HOSTNAME_MISMATCH)|CERT|SIGNATURE|CRL/;

/** What kept us from a connection: nothing was sent. */
export function connectFailure(caught: unknown): QueueFailure {
  const { code = '' } = (caught ?? {}) as { code?: string };
  if (TLS_CODE.test(code)) return row('agent_protocol_error', 'has a TLS certificate or name that does not fit');
  return replyFailure(caught) ?? CONNECTS[code] ?? row('agent_unavailable', 'cannot be connected to');
}

/** What became of a command on a connection that stood: unless Redis itself refused it, it may have been carried out. */
export function commandFailure(caught: unknown): QueueFailure {
  return replyFailure(caught) ?? row('agent_unavailable', 'broke the connection', 'unknown');
}

function replyFailure(caught: unknown): QueueFailure | null {
  if (!isReply(caught)) return null;
  return REPLIES[refusalWord(caught)] ?? row('agent_protocol_error', 'refused a command; Redis 6.2 or later is needed');
}

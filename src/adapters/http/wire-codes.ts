/**
 * HTTP's wire codes → our codes, both directions of reading an agent's answer (Decisions: 408, 429 and 5xx
 * are transient except 501; other 4xx are the agent's refusal).
 */
import type { ErrorCode } from '../../protocol/error-codes';
import type { FailedAttempt } from '../../policy/retry';

/** The code for an agent's HTTP status that is neither 200 nor 202. */
export function codeForStatus(status: number): ErrorCode {
  if (status === 408) return 'agent_timeout';
  if (status === 429) return 'agent_busy';
  if (status === 501) return 'agent_rejected';
  if (status >= 500) return 'agent_error';
  if (status >= 400) return 'agent_rejected';
  return 'agent_protocol_error';
}

interface NetworkRow {
  code: ErrorCode;
  received: FailedAttempt['received'];
  says: string;
}

/** Failures before a connection stood: the agent cannot have seen the request. */
const BEFORE_CONNECTION: Record<string, NetworkRow> = {
  ECONNREFUSED: { code: 'agent_unavailable', received: 'no', says: 'refused the connection' },
  ENOTFOUND: { code: 'agent_unavailable', received: 'no', says: 'has a host name that does not resolve' },
  EAI_AGAIN: { code: 'agent_unavailable', received: 'no', says: 'has a host name that cannot be resolved right now' },
  EHOSTUNREACH: { code: 'agent_unavailable', received: 'no', says: 'has a host that is unreachable' },
  ENETUNREACH: { code: 'agent_unavailable', received: 'no', says: 'is in a network that is unreachable' },
  UND_ERR_CONNECT_TIMEOUT: { code: 'agent_unavailable', received: 'no', says: 'did not accept the connection in time' },
  EGRESS_FORBIDDEN: {
    code: 'callback_url_forbidden',
    received: 'no',
    says: 'resolves to an address that may not be called',
  },
};

/** Failures on a standing connection: the request may have arrived. */
const AFTER_CONNECTION: Record<string, NetworkRow> = {
  ECONNRESET: { code: 'agent_unavailable', received: 'unknown', says: 'reset the connection' },
  EPIPE: { code: 'agent_unavailable', received: 'unknown', says: 'closed the connection' },
  UND_ERR_SOCKET: { code: 'agent_unavailable', received: 'unknown', says: 'closed the connection before it answered' },
  UND_ERR_HEADERS_OVERFLOW: { code: 'agent_protocol_error', received: 'yes', says: 'sent headers that are too large' },
};

/** What Node calls a handshake that failed: its own codes, OpenSSL's verification results, and not speaking TLS at all. */
const TLS_CODE = /^(ERR_TLS|ERR_SSL|EPROTO$|UNABLE_TO_VERIFY|HOSTNAME_MISMATCH)|CERT|SIGNATURE|CRL/;

/** Classifies a network error by its system or undici code; TLS and parser errors are the agent's protocol fault. */
export function networkFailure(code: string | undefined): NetworkRow {
  const known = BEFORE_CONNECTION[code ?? ''] ?? AFTER_CONNECTION[code ?? ''];
  if (known) return known;
  if (code?.startsWith('HPE_'))
    return { code: 'agent_protocol_error', received: 'yes', says: 'did not answer in HTTP' };
  if (code !== undefined && TLS_CODE.test(code)) {
    return { code: 'agent_protocol_error', received: 'no', says: 'has a TLS certificate or name that does not fit' };
  }
  return { code: 'agent_unavailable', received: 'unknown', says: 'broke the connection' };
}

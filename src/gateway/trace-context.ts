import { randomBytes } from 'node:crypto';

const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/;

/**
 * The trace id of a request: the caller's by W3C Trace Context, or a new one when the header is absent or
 * not valid (the specification asks to restart the trace then, not to refuse the request).
 */
export function traceIdOf(traceparent: string | undefined): string {
  const match = TRACEPARENT.exec(traceparent?.trim() ?? '');
  const [, traceId, spanId] = match ?? [];
  const valid = traceId && spanId && !/^0+$/.test(traceId) && !/^0+$/.test(spanId) && !traceparent?.startsWith('ff');
  return valid ? traceId : randomBytes(16).toString('hex');
}

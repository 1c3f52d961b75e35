import { request, type Dispatcher } from 'undici';
import { assertUrlAllowed, type EgressPolicy } from '../../policy/egress';
import type { ProbeResult } from './health-state';

/** A health endpoint has no business answering more. */
const MAX_BODY_BYTES = 65_536;

/** One health check. */
export interface ProbeRequest {
  url: string;
  /** For all of it: connecting, headers and body. */
  timeoutMs: number;
  /** Whether the descriptor declares a health check. Without one any answer below 500 is a sign of life: there may be no such page. */
  declared: boolean;
  /** Checks what names resolve to. Redirects are not followed. */
  dispatcher: Dispatcher;
  /** Judges addresses written as such, which are never resolved. */
  egress: EgressPolicy;
  signal: AbortSignal;
}

/** Asks once. Never throws: whatever goes wrong is a failure of the target. */
export async function probe({
  url,
  timeoutMs,
  declared,
  dispatcher,
  egress,
  signal,
}: ProbeRequest): Promise<ProbeResult> {
  const timeout = AbortSignal.timeout(Math.ceil(timeoutMs));
  try {
    assertUrlAllowed(url, egress, 'the health check');
    const response = await request(url, {
      method: 'GET',
      dispatcher,
      signal: AbortSignal.any([signal, timeout]),
      headers: { accept: '*/*' },
    });
    const small = await consume(response.body);
    if (!small) return { ok: false, reason: `answered more than ${MAX_BODY_BYTES / 1_024} KiB` };
    return judge(response.statusCode, declared);
  } catch (error) {
    return { ok: false, reason: timeout.aborted ? `no answer within ${timeoutMs} ms` : describe(error) };
  }
}

function judge(status: number, declared: boolean): ProbeResult {
  if (status >= 200 && status < 300) return { ok: true };
  if (status >= 300 && status < 400) return { ok: false, reason: `answered HTTP ${status}, a redirect` };
  return !declared && status < 500 ? { ok: true } : { ok: false, reason: `answered HTTP ${status}` };
}

/** Reads the body so that the connection can be used again. Answers false when it is too large. */
async function consume(body: Dispatcher.ResponseData['body']): Promise<boolean> {
  let size = 0;
  for await (const chunk of body) {
    size += (chunk as Buffer).length;
    // Leaving the loop destroys the stream and with it the connection.
    if (size > MAX_BODY_BYTES) return false;
  }
  return true;
}

/** The error's code only: messages may carry internal addresses. */
function describe(error: unknown): string {
  const code = (error as { code?: unknown }).code;
  if (code === 'callback_url_forbidden' || code === 'EGRESS_FORBIDDEN')
    return 'its address is not allowed (security.egress_allow)';
  return typeof code === 'string' ? `no answer (${code})` : 'no answer';
}

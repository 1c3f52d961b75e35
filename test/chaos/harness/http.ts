/** Plain HTTP as a caller speaks it: nothing is repeated, nothing interpreted. */

/** An answer, or null for none: refused, reset, timed out. */
export interface HttpAnswer {
  status: number;
  headers: Headers;
  // Read member by member, as the wire contract says.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  body: any;
}

/** Why a request has no answer. */
export interface Silence {
  /** As the system names it (`ECONNREFUSED`, `ECONNRESET`), `UND_ERR_SOCKET` when the other side closed, `timeout` when we gave up. */
  code: string;
  /** False when no connection came about, so that nobody can have read the request. */
  sent: boolean;
  /** From the beginning of the request until we knew, ms. */
  afterMs: number;
}

/** What came of a request: one of the two is null. */
export type Exchange = { answer: HttpAnswer; silence: null } | { answer: null; silence: Silence };

/** How a request is sent. */
export interface HttpOptions {
  body?: unknown;
  headers?: Record<string, string>;
  /** Default 40 s. */
  limitMs?: number;
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Nothing was written yet: whoever should have been called does not listen. */
const NOT_SENT: ReadonlySet<string> = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'UND_ERR_CONNECT_TIMEOUT']);

/** Sends one request; null when it was not answered within `limitMs`. */
export async function http(method: Method, url: string, options: HttpOptions = {}): Promise<HttpAnswer | null> {
  return (await exchange(method, url, options)).answer;
}

/** Sends one request, and tells why it was not answered where it was not. */
export async function exchange(
  method: Method,
  url: string,
  { body, headers, limitMs = 40_000 }: HttpOptions = {},
): Promise<Exchange> {
  const startedMs = performance.now();
  try {
    const response = await fetch(url, {
      method,
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(limitMs),
    });
    const text = await response.text();
    return { answer: { status: response.status, headers: response.headers, body: parsed(text) }, silence: null };
  } catch (error) {
    const code = codeOf(error);
    const afterMs = Math.round(performance.now() - startedMs);
    return { answer: null, silence: { code, sent: !NOT_SENT.has(code), afterMs } };
  }
}

/** `fetch` hides what happened in the cause. */
function codeOf(error: unknown): string {
  const { name, cause } = error as { name?: string; cause?: { code?: string; name?: string } };
  if (name === 'TimeoutError') return 'timeout';
  return cause?.code ?? cause?.name ?? name ?? 'unknown';
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

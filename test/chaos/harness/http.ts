/** Plain HTTP as a caller speaks it: nothing is repeated, nothing interpreted. */

/** An answer, or null for none: refused, reset, timed out. */
export interface HttpAnswer {
  status: number;
  headers: Headers;
  // Read member by member, as the wire contract says.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  body: any;
}

/** Sends one request; null when it was not answered within `limitMs`. */
export async function http(
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  url: string,
  { body, headers, limitMs = 40_000 }: { body?: unknown; headers?: Record<string, string>; limitMs?: number } = {},
): Promise<HttpAnswer | null> {
  try {
    const response = await fetch(url, {
      method,
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(limitMs),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: parsed(text) };
  } catch {
    return null;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

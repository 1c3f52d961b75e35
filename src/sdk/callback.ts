/** For receivers of callbacks: is it from the platform, fresh and unaltered? */
import { Webhook } from 'standardwebhooks';
import type { CallbackEvent } from '../protocol/callback';
import { MAX_DEPTH } from '../protocol/limits';
import { ReachError } from '../protocol/reach-error';
import { parseJsonStrict } from '../protocol/strict-json';
import type { ReachView } from './wire-types';

/** A callback that was verified. `id` is the same for every attempt: remember it, and answer a repeat 2xx without acting. */
export interface VerifiedCallback extends Omit<CallbackEvent, 'data'> {
  id: string;
  /** What `GET /v1/reaches/{id}` answers; results over 256 KiB come without `output`, with `links.self`. */
  data: ReachView;
}

/** An output may be as deep as any document; what tells of it, signed by the platform, is some levels around it. */
const MAX_CALLBACK_DEPTH = MAX_DEPTH + 4;

/** Header values as Node and Fetch have them. */
export type CallbackHeaders = Headers | Record<string, string | string[] | undefined>;

/**
 * Verifies a callback by Standard Webhooks: signature of one of `secrets` over the raw body, timestamp within five minutes.
 *
 * @param rawBody the bytes as they came; what was parsed and written again does not verify
 * @param secrets `whsec_…`, the new and the old one while they rotate
 * @throws ReachError `unauthorized`: answer 401 and do nothing
 *
 * @example
 * ```ts
 * app.post('/hooks', express.raw({ type: '*\/*' }), async (request, response) => {
 *   const { id, type, data } = verifyCallback(request.body, request.headers, [process.env.CALLBACK_SECRET!]);
 *   if (await firstTime(id)) await settle(type, data);
 *   response.sendStatus(204);
 * });
 * ```
 */
export function verifyCallback(
  rawBody: string | Uint8Array,
  headers: CallbackHeaders,
  secrets: string | readonly string[],
): VerifiedCallback {
  const text = typeof rawBody === 'string' ? rawBody : Buffer.from(rawBody).toString('utf8');
  const plain = plainHeaders(headers);
  assertSigned(text, plain, typeof secrets === 'string' ? [secrets] : secrets);
  const event = parseJsonStrict(text, { maxDepth: MAX_CALLBACK_DEPTH }) as unknown as Omit<VerifiedCallback, 'id'>;
  return { ...event, id: plain['webhook-id'] ?? '' };
}

/** @throws RangeError for secrets that are none: that is the receiver's own mistake, and no forgery */
function assertSigned(text: string, headers: Record<string, string>, secrets: readonly string[]): void {
  if (secrets.length === 0 || secrets.some((secret) => !/^whsec_.{8,}$/.test(secret)))
    throw new RangeError('verifyCallback needs the secrets of the platform, each beginning with whsec_');
  let reason: unknown;
  for (const secret of secrets) {
    try {
      new Webhook(secret).verify(text, headers, { jsonParse: false });
      return;
    } catch (caught) {
      reason = caught;
    }
  }
  const why = reason instanceof Error ? reason.message : 'it cannot be read';
  throw new ReachError('unauthorized', `The callback is not to be trusted: ${why}`, { cause: reason });
}

function plainHeaders(headers: CallbackHeaders): Record<string, string> {
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers);
  return Object.fromEntries(
    entries.flatMap(([name, value]) => {
      const single = Array.isArray(value) ? value[0] : value;
      return single === undefined ? [] : [[name.toLowerCase(), single]];
    }),
  );
}

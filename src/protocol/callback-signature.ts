/**
 * Signatures of callbacks by Standard Webhooks 1.0 (https://www.standardwebhooks.com): HMAC-SHA256 over
 * `id.timestamp.body` under each secret. Receiver and platform use the same library.
 */
import { Webhook } from 'standardwebhooks';
import { ReachError } from './reach-error';

/** 24 to 64 random bytes, as the specification asks. */
const MIN_SECRET_BYTES = 24;
const MAX_SECRET_BYTES = 64;

/** The headers of one attempt. */
export interface SignedHeaders {
  'webhook-id': string;
  /** Unix seconds of this attempt. */
  'webhook-timestamp': string;
  /** One `v1,…` for each secret, separated by a space. */
  'webhook-signature': string;
}

/** A secret in the form that receivers are given: `whsec_` and base64. */
export function secretText(bytes: Uint8Array): string {
  return `whsec_${Buffer.from(bytes).toString('base64')}`;
}

/**
 * Checks the form of a secret without showing it.
 * @param what where it comes from, for the error
 * @throws ReachError `invalid_request`
 */
export function assertSecret(secret: string, what: string): void {
  const [, base64] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret) ?? [];
  const bytes = base64 === undefined ? 0 : Buffer.from(base64, 'base64').byteLength;
  if (bytes >= MIN_SECRET_BYTES && bytes <= MAX_SECRET_BYTES) return;
  throw new ReachError(
    'invalid_request',
    `${what} must hold whsec_ and the base64 of ${MIN_SECRET_BYTES} to ${MAX_SECRET_BYTES} random bytes; make one with: echo "whsec_$(openssl rand -base64 32)"`,
  );
}

/** Signs what is posted. Keeps its secrets to itself: nothing of it shows in logs, JSON or `inspect`. */
export class CallbackSigner {
  readonly #keys: Webhook[];

  /** @param secrets the one in use first; during a rotation the one before it too */
  constructor(secrets: readonly string[]) {
    this.#keys = secrets.map((secret) => new Webhook(secret));
  }

  /** @param body exactly the text that is sent */
  sign(id: string, at: Date, body: string): SignedHeaders {
    return {
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
      'webhook-signature': this.#keys.map((key) => key.sign(id, at, body)).join(' '),
    };
  }
}

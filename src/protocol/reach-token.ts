import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { jwtVerify } from 'jose';
import type { Inheritance } from './lineage';
import { ReachError } from './reach-error';

/** What a reach token stands for: this reach, this run, this attempt, until its end, and nothing else. */
export interface ReachTokenClaims {
  reachId: string;
  runId: string;
  attempt: number;
  /** What reaches inherit that are made with the token (R10). Null in tokens of 0.1. */
  nested: NestedTerms | null;
}

/** What an agent's own reaches inherit, and how long it had when the token was made. */
export interface NestedTerms {
  inheritance: Inheritance;
  /** What the attempt might use, ms, and when that began, Unix ms by the clock of the worker. */
  budgetMs: number;
  /** What was left of the whole reach then, ms: an agent that accepts may use it. */
  reachMs?: number;
  issuedMs: number;
}

const AUDIENCE = 'agent-reach/reach';
const HEADER = base64url({ alg: 'HS256' });

/**
 * Issues and verifies reach tokens: HS256 JWTs under a secret that all gateways and workers share. The
 * algorithm is fixed, so no header of a token can choose another.
 */
export class ReachTokens {
  /** As a key object it is imported once; raw bytes would be imported anew for each token. */
  readonly #secret: KeyObject;

  /** @param secret at least 32 bytes */
  constructor(secret: Uint8Array) {
    if (secret.byteLength < 32)
      throw new RangeError(`The reach token secret must have at least 32 bytes, got ${secret.byteLength}`);
    this.#secret = createSecretKey(secret);
  }

  /**
   * A token for one attempt; `lifetimeMs` is what is left of the reach, and a minute for clock differences.
   *
   * Signed here (JWS compact serialization, RFC 7515 section 7.1) rather than by the library that verifies: that goes through
   * WebCrypto and a thread of the pool, ten times the cost, for each attempt of each reach.
   */
  issue(claims: ReachTokenClaims & { lifetimeMs: number }): string {
    const payload = {
      run: claims.runId,
      att: claims.attempt,
      ...(claims.nested && { nested: claims.nested }),
      sub: claims.reachId,
      aud: AUDIENCE,
      exp: Math.floor(new Date().getTime() / 1_000) + Math.ceil(claims.lifetimeMs / 1_000) + 60,
    };
    const signed = `${HEADER}.${base64url(payload)}`;
    return `${signed}.${createHmac('sha256', this.#secret).update(signed).digest('base64url')}`;
  }

  /** @throws ReachError `unauthorized` when the token is not one of ours, has ended, or is for another reach */
  async verify(token: string, reachId?: string): Promise<ReachTokenClaims> {
    try {
      const { payload } = await jwtVerify(token, this.#secret, {
        algorithms: ['HS256'],
        audience: AUDIENCE,
        ...(reachId !== undefined && { subject: reachId }),
      });
      const { sub, run, att, nested } = payload;
      return {
        reachId: String(sub),
        runId: String(run),
        attempt: Number(att),
        nested: (nested as NestedTerms | undefined) ?? null,
      };
    } catch (cause) {
      const whose = reachId === undefined ? 'valid' : 'valid for this reach';
      throw new ReachError(
        'unauthorized',
        `The reach token is not ${whose}; use the X-Reach-Token header of the request`,
        { cause },
      );
    }
  }
}

function base64url(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

import type { Keyspace } from '../registry/keys';

/** A field of a context, by which a blob is referred to. */
export interface ClaimPlace {
  contextId: string;
  field: string;
}

/**
 * What etcd knows of the blobs of large values:
 *
 * - `…/context-claims/refs/DIGEST/CONTEXT/FIELD` written with each value that refers to the blob, under the lease of its context.
 *   It may outlive the value, but no value is without it: who collects looks the field itself up.
 * - `…/context-claims/condemned/DIGEST` while a blob is being removed, and for a while after.
 */
export class ClaimKeys {
  /** Prefix of all blobs that are being removed, or were a moment ago. */
  readonly condemned: string;
  private readonly refs: string;

  constructor(private readonly keys: Keyspace) {
    this.condemned = `${keys.contextClaims}condemned/`;
    this.refs = `${keys.contextClaims}refs/`;
  }

  /** Prefix of all that may refer to a blob. */
  references(digest: string): string {
    return `${this.refs}${digest}/`;
  }

  reference(digest: string, { contextId, field }: ClaimPlace): string {
    return this.keys.under(this.references(digest), contextId, field);
  }

  /** The field that a reference's key names; null for any other key. */
  placeOf(key: string): ClaimPlace | null {
    const parts = this.keys.partsUnder(this.refs, key, 3);
    return parts === null ? null : { contextId: parts[1]!, field: parts[2]! };
  }

  condemnedBlob(digest: string): string {
    return this.condemned + digest;
  }
}

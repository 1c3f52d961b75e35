import type { Keyspace } from '../registry/keys';

/**
 * Where one context lies in etcd. A field has a head, whose revision is the field's version; a list has a tail as well:
 *
 * - `…/contexts/ID/h/FIELD` the head: value, when, by whom; for a list a constant
 * - `…/contexts/ID/t/FIELD/b` what the list was set to
 * - `…/contexts/ID/t/FIELD/c/N` appended values, folded together
 * - `…/contexts/ID/t/FIELD/i/UNIQUE` appended values, one key for each append
 *
 * Ids and names are percent-encoded, so none can climb out of its place.
 */
export class ContextKeys {
  /** Everything of the context. */
  readonly root: string;
  private readonly heads: string;
  private readonly tails: string;

  constructor(keys: Keyspace, contextId: string) {
    this.root = `${keys.under(keys.contexts, contextId)}/`;
    this.heads = `${this.root}h/`;
    this.tails = `${this.root}t/`;
  }

  head(field: string): string {
    return this.heads + encodeURIComponent(field);
  }

  /** Prefix of everything of a list but its head. */
  tail(field: string): string {
    return `${this.tails}${encodeURIComponent(field)}/`;
  }

  base(field: string): string {
    return `${this.tail(field)}b`;
  }

  /** Prefix of the folded values; their numbers grow. */
  chunks(field: string): string {
    return `${this.tail(field)}c/`;
  }

  chunk(field: string, n: number): string {
    return this.chunks(field) + String(n).padStart(8, '0');
  }

  /** Prefix of the single appends. */
  items(field: string): string {
    return `${this.tail(field)}i/`;
  }

  item(field: string, unique: string): string {
    return this.items(field) + unique;
  }

  /** What a key below {@link root} is; null for anything else. */
  parse(key: string): { field: string; part: 'head' | 'base' | 'chunk' | 'item' } | null {
    const [kind, field, tail] = key.slice(this.root.length).split('/');
    if (!key.startsWith(this.root) || field === undefined) return null;
    const part = kind === 'h' ? 'head' : kind === 't' ? PARTS[tail ?? ''] : undefined;
    return part === undefined ? null : { field: decodeURIComponent(field), part };
  }
}

const PARTS: Partial<Record<string, 'base' | 'chunk' | 'item'>> = { b: 'base', c: 'chunk', i: 'item' };

/** Contexts that one process remembers something of. */
const DEFAULT_LIMIT = 10_000;

/** A map that forgets what was set longest ago when it is full. */
export class RecentMap<K, V> {
  private readonly entries = new Map<K, V>();

  constructor(private readonly limit = DEFAULT_LIMIT) {}

  get(key: K): V | undefined {
    return this.entries.get(key);
  }

  set(key: K, value: V): void {
    this.entries.delete(key);
    this.entries.set(key, value);
    if (this.entries.size <= this.limit) return;
    const [oldest] = this.entries.keys();
    this.entries.delete(oldest as K);
  }

  delete(key: K): void {
    this.entries.delete(key);
  }
}

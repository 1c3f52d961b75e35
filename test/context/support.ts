import type { Etcd3 } from 'etcd3';
import { ContextStore, type ContextStoreOptions } from '../../src/context';
import type { ContextOperation } from '../../src/protocol/context';
import { openPlace, type Place } from '../registry/support';

/** A Context Store of one test file on the shared etcd, or on another. */
export interface ContextPlace extends Place {
  store: ContextStore;
  /** One more process, so to speak: another store on the same keys. */
  another(options?: Partial<ContextStoreOptions>): ContextStore;
}

export function openContexts(address?: string, options: Partial<ContextStoreOptions> = {}): ContextPlace {
  const place = openPlace(address);
  const another = (more: Partial<ContextStoreOptions> = {}) => {
    const { etcd, keyPrefix, tenant, logger } = place.options;
    const store = new ContextStore({ etcd, keyPrefix, tenant, logger, ttlMs: 3_600_000, ...options, ...more });
    place.onClose(() => store.close());
    return store;
  };
  return { ...place, store: another(), another };
}

/** The same client, which counts what it asks etcd for, by the name of the request. */
export function counting(etcd: Etcd3): { etcd: Etcd3; asked: string[] } {
  const asked: string[] = [];
  const watched = <T extends object>(client: T): T =>
    new Proxy(client, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== 'function') return member;
        return (...args: unknown[]) => {
          asked.push(String(name));
          return Reflect.apply(member, target, args) as unknown;
        };
      },
    });
  const clients: Record<string, object> = { kv: watched(etcd.kv), leaseClient: watched(etcd.leaseClient) };
  const proxied = new Proxy(etcd, {
    get: (target, name) => clients[String(name)] ?? Reflect.get(target, name, target),
  });
  return { etcd: proxied, asked };
}

export const set = (field: string, value: unknown, base_version?: number): ContextOperation =>
  ({
    op: 'set',
    field,
    value,
    ...(base_version === undefined ? { force: true } : { base_version }),
  }) as ContextOperation;
export const append = (field: string, value: unknown): ContextOperation =>
  ({ op: 'append', field, value }) as ContextOperation;
export const remove = (field: string, base_version?: number): ContextOperation => ({
  op: 'delete',
  field,
  ...(base_version === undefined ? { force: true } : { base_version }),
});

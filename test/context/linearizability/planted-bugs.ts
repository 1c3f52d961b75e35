/** Stores with a bug each, around the real one: what a checker that is worth its name must catch. */
import type { Etcd3 } from 'etcd3';
import type { ContextOperation } from '../../../src/protocol/context';
import { ReachError } from '../../../src/protocol/reach-error';
import type { Subject } from './history';

type Txn = Etcd3['kv']['txn'];

/** An etcd client whose transactions are changed on the way. */
export function tampered(etcd: Etcd3, change: (request: Parameters<Txn>[0]) => Parameters<Txn>[0]): Etcd3 {
  const kv = new Proxy(etcd.kv, {
    get(target, name) {
      if (name === 'txn') return (request: Parameters<Txn>[0]) => target.txn(change(request));
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === 'function' ? (member.bind(target) as unknown) : member;
    },
  });
  return new Proxy(etcd, { get: (target, name) => (name === 'kv' ? kv : (Reflect.get(target, name) as unknown)) });
}

/** Writes are made whatever the version: the last one wins. */
export const dropTheCompare: Parameters<typeof tampered>[1] = (request) => ({ ...request, compare: [] });

/** A batch looks at the version of its first field only. */
export const ignoreVersionsInBatches: Parameters<typeof tampered>[1] = (request) => ({
  ...request,
  compare: request.compare?.slice(0, 1),
});

/** Folding a list does not look whether its values are still there. */
export const foldBlindly: Parameters<typeof tampered>[1] = (request) =>
  request.success?.some(({ request_delete_range: removal }) => removal !== undefined)
    ? { ...request, compare: [] }
    : request;

/** Versions begin at 1 again when a field or its context was deleted. */
export function restartVersions(subject: Subject): Subject {
  const offsets = new Map<string, number>();
  const shown = (key: string, field: string, version: number) => version - (offsets.get(`${key} ${field}`) ?? 0);
  const restart = (key: string, field: string, version: number) => void offsets.set(`${key} ${field}`, version);
  const hide = <T extends { version: number }>(key: string, fields: Record<string, T>) =>
    Object.fromEntries(
      Object.entries(fields).map(([field, each]) => [field, { ...each, version: shown(key, field, each.version) }]),
    );
  return {
    get: async (key) => ({ fields: hide(key, (await subject.get(key)).fields) }),
    async patch(key, operations) {
      const real = operations.map((each) =>
        each.base_version
          ? { ...each, base_version: each.base_version + (offsets.get(`${key} ${each.field}`) ?? 0) }
          : each,
      ) as ContextOperation[];
      try {
        const answer = await subject.patch(key, real);
        for (const { op, field, base_version: base } of real) if (op === 'delete' && base) restart(key, field, base);
        return { fields: hide(key, answer.fields) };
      } catch (caught) {
        throw hideInConflict(caught, (field, version) => (version === 0 ? 0 : shown(key, field, version)));
      }
    },
    delete: (key) => subject.delete(key),
  };
}

function hideInConflict(caught: unknown, shown: (field: string, version: number) => number): unknown {
  if (!(caught instanceof ReachError) || !caught.options.extra?.conflicts) return caught;
  const conflicts = caught.options.extra.conflicts.map((each) => ({
    ...each,
    base_version: shown(each.field, each.base_version),
    current_version: shown(each.field, each.current_version),
  }));
  return caught.with({ conflicts });
}

/** Every fifth read is what was read the time before. */
export function readStale(subject: Subject): Subject {
  const before = new Map<string, Awaited<ReturnType<Subject['get']>>>();
  let reads = 0;
  return {
    ...bound(subject),
    async get(key) {
      reads += 1;
      const old = before.get(key);
      if (old !== undefined && reads % 5 === 0) return old;
      const now = await subject.get(key);
      before.set(key, now);
      return now;
    },
  };
}

/** An append reads the list and writes it back. */
export function appendByOverwriting(subject: Subject): Subject {
  return {
    ...bound(subject),
    async patch(key, operations) {
      if (!operations.some(({ op }) => op === 'append')) return subject.patch(key, operations);
      const { fields } = await subject.get(key).catch(() => ({ fields: {} as Record<string, { value: unknown }> }));
      const overwriting = operations.map((each) => {
        if (each.op !== 'append') return each;
        const list = Object.hasOwn(fields, each.field) ? (fields[each.field]!.value as unknown[]) : [];
        return { op: 'set', field: each.field, value: [...list, each.value], force: true } as ContextOperation;
      });
      return subject.patch(key, overwriting);
    },
  };
}

function bound(subject: Subject): Subject {
  return {
    get: (key) => subject.get(key),
    patch: (key, operations) => subject.patch(key, operations),
    delete: (key) => subject.delete(key),
  };
}

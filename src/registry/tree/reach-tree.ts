import { randomUUID } from 'node:crypto';
import type { Etcd3 } from 'etcd3';
import type { TreeBudget } from '../../protocol/lineage';
import { systemClock } from '../clock';
import { callEtcd, isLeaseGone } from '../etcd/etcd-client';
import { deleteOp, getPrefixOp, prefixRange, putOp } from '../etcd/etcd-ops';
import { RetentionLeases } from '../etcd/retention-leases';
import { Keyspace } from '../keys';
import { RETRY_WAIT_MS, withinMs } from '../limits/patience';
import { DEFAULT_KEY_PREFIX, type RegistryOptions } from '../registry';

/** One nested reach of another. */
export interface Child {
  reachId: string;
  /** Unix ms by the clock of the gateway that noted it, before it was started. */
  notedMs: number;
}

/** A nested reach that is about to start. */
export interface Joining {
  parent: string;
  child: string;
  tree: TreeBudget;
  /** How long the parent may still run, ms. */
  ttlMs: number;
}

/** The attempt that an agent accepted. */
export interface AcceptedAttempt {
  reachId: string;
  runId: string;
  attempt: number;
}

/** A result that nobody waited for any more. */
export interface LateResultNote {
  at: string;
  attempt: number;
  run_id: string;
}

const DAY_MS = 86_400_000;
/** After etcd failed, retries are let through without asking it for this long. */
const ALOOF_MS = 3_000;
/** An agent that posts for ever leaves no more than so many traces. */
const MAX_LATE_NOTES = 20;

/** A retry within a tree; the same one asked for twice counts once. */
export interface TreeRetry {
  tree: TreeBudget;
  /** Tells this retry from all others of the tree. */
  id: string[];
  /** How long the tree may still live, ms. */
  ttlMs: number;
}

/**
 * Trees of nested reaches as all processes see them (R10, R27): who has which children, so that a cancellation finds them, and
 * how many retries a tree has made. Small keys under shared leases, which outlive the reaches by an hour or two.
 */
export class ReachTree {
  readonly #etcd: Etcd3;
  readonly #keys: Keyspace;
  readonly #leases: RetentionLeases;
  readonly #wallMs: () => number;
  readonly #monotonicMs: () => number;
  #aloofUntilMs = Number.NEGATIVE_INFINITY;

  constructor({ etcd, keyPrefix = DEFAULT_KEY_PREFIX, tenant, clock = systemClock }: Omit<RegistryOptions, 'logger'>) {
    this.#etcd = etcd;
    this.#keys = new Keyspace(keyPrefix, tenant);
    this.#monotonicMs = () => clock.monotonicMs();
    this.#leases = new RetentionLeases(etcd, this.#monotonicMs);
    this.#wallMs = () => clock.wall().getTime();
  }

  /**
   * Notes a child before it starts or, where its parent's call is in the same process, while it does; answers how many retries its
   * tree has made. One round trip. @throws ReachError `engine_unavailable`
   */
  async join({ parent, child, tree, ttlMs }: Joining): Promise<{ retriesUsed: number }> {
    const key = this.#keys.under(this.#keys.treeChildren, parent, child);
    const retries = this.#retriesOf(tree.run);
    const note = async () => {
      const put = putOp(key, String(this.#wallMs()), await this.#leases.id(ttlMs));
      return this.#etcd.kv.txn({ compare: [], success: [put, countOp(retries)], failure: [] });
    };
    const response = await callEtcd('noting a nested reach', () => this.#withLease(note));
    return { retriesUsed: countIn(response.responses[1]) };
  }

  /** @throws ReachError `engine_unavailable` */
  async children(parent: string): Promise<Child[]> {
    const prefix = this.#keys.under(this.#keys.treeChildren, parent, '');
    const { success } = { success: [getPrefixOp(prefix)] };
    const response = await callEtcd('looking for nested reaches', () =>
      this.#etcd.kv.txn({ compare: [], success, failure: [] }),
    );
    return (response.responses[0]?.response_range?.kvs ?? []).flatMap(({ key, value }) => {
      const parts = this.#keys.partsUnder(this.#keys.treeChildren, key.toString(), 2);
      return parts === null ? [] : [{ reachId: parts[1] ?? '', notedMs: Number(value.toString()) }];
    });
  }

  /**
   * Counts a retry against its tree. False when the tree has made as many as it may; true also while etcd does not answer,
   * as each reach still keeps to the limit by itself. Answers within {@link RETRY_WAIT_MS}, or twice that when it has to count back.
   */
  async takeRetry({ tree, id, ttlMs }: TreeRetry): Promise<boolean> {
    if (this.#monotonicMs() < this.#aloofUntilMs) return true;
    const prefix = this.#retriesOf(tree.run);
    const key = this.#keys.under(prefix, ...id);
    const take = async () => {
      const put = putOp(key, '', await this.#leases.id(ttlMs));
      return this.#etcd.kv.txn({ compare: [], success: [put, countOp(prefix)], failure: [] });
    };
    try {
      const response = await withinMs(RETRY_WAIT_MS, this.#withLease(take));
      if (countIn(response.responses[1]) <= tree.limit) return true;
    } catch {
      this.#aloofUntilMs = this.#monotonicMs() + ALOOF_MS;
      return true;
    }
    // Two that came last together are both turned away: never one too many, also where this cannot be taken back.
    const back = this.#etcd.kv.txn({ compare: [], success: [deleteOp(key)], failure: [] });
    await withinMs(RETRY_WAIT_MS, back).catch(() => undefined);
    return false;
  }

  /** Notes that an agent which accepted still works. @throws ReachError `engine_unavailable` */
  async sign({ reachId, runId, attempt, ttlMs }: AcceptedAttempt & { ttlMs: number }): Promise<void> {
    const key = this.#keys.under(this.#keys.signs, reachId, runId, String(attempt));
    const put = async () =>
      this.#etcd.kv.txn({
        compare: [],
        success: [putOp(key, '', await this.#leases.id(ttlMs))],
        failure: [],
      });
    await callEtcd('noting a sign of life', () => this.#withLease(put));
  }

  /** What changes with every {@link sign}; null before the first. @throws ReachError `engine_unavailable` */
  async lastSign({ reachId, runId, attempt }: AcceptedAttempt): Promise<string | null> {
    const key = this.#keys.under(this.#keys.signs, reachId, runId, String(attempt));
    const { kvs } = await callEtcd('looking for a sign of life', () => this.#etcd.kv.range({ key: Buffer.from(key) }));
    return kvs[0]?.mod_revision ?? null;
  }

  /** Keeps a trace of a result that came too late: a few per reach, for a day. @throws ReachError `engine_unavailable` */
  async noteLateResult(reachId: string, note: LateResultNote): Promise<void> {
    const prefix = this.#keys.under(this.#keys.lateResults, reachId, '');
    const known = await callEtcd('counting late results', () =>
      this.#etcd.kv.range({ ...prefixRange(prefix), count_only: true }),
    );
    if (Number(known.count) >= MAX_LATE_NOTES) return;
    const key = this.#keys.under(prefix, randomUUID());
    const put = async () =>
      this.#etcd.kv.txn({
        compare: [],
        success: [putOp(key, JSON.stringify(note), await this.#leases.id(DAY_MS))],
        failure: [],
      });
    await callEtcd('noting a late result', () => this.#withLease(put));
  }

  /** @throws ReachError `engine_unavailable` */
  async lateResults(reachId: string): Promise<LateResultNote[]> {
    const prefix = this.#keys.under(this.#keys.lateResults, reachId, '');
    const { kvs } = await callEtcd('reading late results', () => this.#etcd.kv.range(prefixRange(prefix)));
    return kvs.map(({ value }) => JSON.parse(value.toString()) as LateResultNote);
  }

  #retriesOf(run: string): string {
    return this.#keys.under(this.#keys.treeRetries, run, '');
  }

  async #withLease<T>(write: () => Promise<T>): Promise<T> {
    return write().catch((caught: unknown) => {
      if (!isLeaseGone(caught)) throw caught;
      this.#leases.forget();
      return write();
    });
  }
}

function countOp(prefix: string) {
  const { request_range } = getPrefixOp(prefix);
  return { request_range: { ...request_range, count_only: true } };
}

function countIn(response: { response_range?: { count?: string } } | undefined): number {
  return Number(response?.response_range?.count ?? 0);
}

import { createHash } from 'node:crypto';
import type { ICompare } from 'etcd3';
import { z } from 'zod';
import type { Trial } from '../../policy/canary';
import { callEtcd } from '../etcd/etcd-client';
import { deleteOp, prefixRange, putOp } from '../etcd/etcd-ops';
import { Keyspace } from '../keys';
import { DEFAULT_KEY_PREFIX, type RegistryOptions } from '../registry';
import { encodeRecord } from '../records';

const counts = z.object({ requests: z.number(), failures: z.number() });
const schema = z.object({
  v: z.literal(1),
  id: z.string(),
  trial: z.object({
    canary: counts,
    stable: counts,
    excess: z.number(),
    variance: z.number(),
    looks: z.number(),
    nextLook: z.number(),
  }),
});

/**
 * Trials of canaries (R21), so that a leader that takes over goes on where the last one was: otherwise each change of leader
 * would begin to spend α anew.
 */
export class TrialStore {
  private readonly keys: Keyspace;

  constructor(private readonly options: Pick<RegistryOptions, 'etcd' | 'keyPrefix' | 'tenant'>) {
    this.keys = new Keyspace(options.keyPrefix ?? DEFAULT_KEY_PREFIX, options.tenant);
  }

  /** All trials by id; one that cannot be read begins anew. @throws ReachError `engine_unavailable` */
  load(): Promise<Map<string, Trial>> {
    return callEtcd('reading the trials of canaries', async () => {
      const { kvs } = await this.options.etcd.kv.range(prefixRange(this.keys.canaryTrials));
      const read = kvs.flatMap(({ value }) => {
        const parsed = schema.safeParse(parse(value));
        return parsed.success ? [[parsed.data.id, parsed.data.trial] as const] : [];
      });
      return new Map(read);
    });
  }

  /** Writes one, or deletes it, while the fence holds; false when it does not. @throws ReachError `engine_unavailable` */
  save(id: string, trial: Trial | null, fence: ICompare): Promise<boolean> {
    const key = this.keys.under(this.keys.canaryTrials, createHash('sha256').update(id).digest('hex').slice(0, 32));
    const write = trial === null ? deleteOp(key) : putOp(key, encodeRecord({ id, trial }));
    return callEtcd('writing the trial of a canary', async () => {
      const { succeeded } = await this.options.etcd.kv.txn({ compare: [fence], success: [write], failure: [] });
      return succeeded;
    });
  }
}

function parse(value: Buffer): unknown {
  try {
    return JSON.parse(value.toString('utf8'));
  } catch {
    return null;
  }
}

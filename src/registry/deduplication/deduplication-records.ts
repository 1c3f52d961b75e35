import type { Etcd3, IKeyValue } from 'etcd3';
import { z } from 'zod';
import {
  MAX_ETCD_OUTPUT_BYTES,
  type DeduplicationBegin,
  type DeduplicationBeginAnswer,
  type DeduplicationComplete,
  type DeduplicationCompleteAnswer,
} from '../../protocol/deduplication';
import { ReachError } from '../../protocol/reach-error';
import type { JsonObject } from '../../protocol/shapes';
import { systemClock, type Clock } from '../clock';
import { callEtcd, isLeaseGone } from '../etcd/etcd-client';
import { absent, getOp, putOp, readOf, unchanged } from '../etcd/etcd-ops';
import { RetentionLeases } from '../etcd/retention-leases';
import { onBegin, onComplete, type DeduplicationRecord, type Verdict } from './rules';

/** Each lost race means that somebody else got on with the same key; so many in a row are no race any more. */
const MAX_TRIES = 16;

const storedSchema = z.object({ v: z.literal(1), fence: z.string(), output: z.looseObject({}).nullable() });

/** A record as it was read, and the revision that a write must still find. */
interface Found {
  record: DeduplicationRecord | null;
  /** `'0'`: there is no such key. */
  revision: string;
}
const NOTHING: Found = { record: null, revision: '0' };

/**
 * Deduplication records on etcd, one key each: every write is a transaction that compares what was read, so of any number
 * of processes exactly one records. Keys are etcd's own, whole. Fails with `engine_unavailable` within about 3 s when
 * etcd does not answer; every method is safe to repeat.
 */
export class DeduplicationRecords {
  readonly #leases: RetentionLeases;

  constructor(
    private readonly etcd: Etcd3,
    clock: Pick<Clock, 'monotonicMs'> = systemClock,
  ) {
    this.#leases = new RetentionLeases(etcd, () => clock.monotonicMs());
  }

  /** See {@link onBegin}; without a fence it only reads. @throws ReachError `engine_unavailable` */
  begin({ key, fence, ttlMs }: DeduplicationBegin): Promise<DeduplicationBeginAnswer> {
    return callEtcd('looking up what an agent has done', async () => {
      if (fence !== null) return this.#settle(key, ttlMs, (found) => onBegin(found, fence));
      const { kvs } = await this.etcd.kv.range({ key: Buffer.from(key) });
      const output = foundIn(kvs).record?.output ?? null;
      return output === null ? { status: 'free' } : { status: 'done', output };
    });
  }

  /** See {@link onComplete}. @throws ReachError `engine_unavailable`; `payload_too_large` over 256 KiB */
  complete({ key, fence, output, ttlMs }: DeduplicationComplete): Promise<DeduplicationCompleteAnswer> {
    return callEtcd('recording what an agent has done', async () => {
      assertStorable(output);
      return this.#settle(key, ttlMs, (found) => onComplete(found, { fence, output }));
    });
  }

  /** Most keys are new: the first try assumes so and saves a read. */
  async #settle<Answer>(
    key: string,
    ttlMs: number,
    judge: (found: DeduplicationRecord | null) => Verdict<Answer>,
  ): Promise<Answer> {
    let found = NOTHING;
    for (let n = 1; n <= MAX_TRIES; n += 1) {
      const { answer, write } = judge(found.record);
      if (write === undefined) return answer;
      const now = await this.#write(key, { found, write, ttlMs });
      if (now === 'written') return answer;
      found = now;
    }
    throw new ReachError('engine_unavailable', 'Too many deliveries of one key at once; try again', {
      retryAfterMs: 1_000,
    });
  }

  async #write(
    key: string,
    { found, write, ttlMs }: { found: Found; write: DeduplicationRecord; ttlMs: number },
  ): Promise<'written' | Found> {
    const put = async () => {
      const operation = putOp(key, JSON.stringify({ v: 1, ...write }), await this.#leases.id(ttlMs));
      const compare = found.revision === '0' ? absent(key) : unchanged(key, found.revision);
      return this.etcd.kv.txn({ compare: [compare], success: [operation], failure: [getOp(key)] });
    };
    const response = await put().catch((caught: unknown) => {
      if (!isLeaseGone(caught)) throw caught;
      this.#leases.forget(); // e.g. etcd was restored from a backup
      return put();
    });
    return response.succeeded ? 'written' : foundIn(readOf(response, 0));
  }
}

function assertStorable(output: JsonObject): void {
  const bytes = Buffer.byteLength(JSON.stringify(output));
  if (bytes <= MAX_ETCD_OUTPUT_BYTES) return;
  const message = `must not be over ${MAX_ETCD_OUTPUT_BYTES} bytes as compact JSON; it has ${bytes}`;
  throw new ReachError(
    'payload_too_large',
    `The output ${message}; answer with a reference, or use a store for large outputs`,
    {
      errors: [{ pointer: '/output', message }],
    },
  );
}

function foundIn([entry]: IKeyValue[]): Found {
  if (entry === undefined) return NOTHING;
  return { record: decode(entry), revision: entry.mod_revision };
}

/** Guessing that an unreadable record is none would run the work again. */
function decode({ key, value }: IKeyValue): DeduplicationRecord {
  try {
    const { fence, output } = storedSchema.parse(JSON.parse(value.toString()));
    return { fence, output: output as JsonObject | null };
  } catch (cause) {
    throw new ReachError('internal', `The value of ${key.toString()} in etcd cannot be read; delete it to go on`, {
      cause,
    });
  }
}

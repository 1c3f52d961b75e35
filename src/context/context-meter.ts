import { MAX_CONTEXT_BYTES, MAX_CONTEXT_FIELDS } from '../protocol/context';
import { ReachError } from '../protocol/reach-error';
import { bytesOf, type Changes } from './changes';
import { RecentMap } from './recent-map';

/** What a context takes: bytes by field, in etcd and in blobs. */
export type Measured = ReadonlyMap<string, { bytes: number; claimed?: number }>;

/** What is to be written, and which fields of it as blobs. */
export interface Batch {
  changes: Changes;
  planned: ReadonlySet<string>;
}

interface Growth {
  fields: number;
  bytes: number;
  claimed: number;
}

/** What a reference to a blob takes in etcd, bytes. */
const CLAIM_BYTES = 120;
const NOTHING: Growth = { fields: 0, bytes: 0, claimed: 0 };

interface Estimate extends Growth {
  /** Of these, what this process wrote since it was measured. */
  since: Growth;
}

interface Measuring {
  result: Promise<Measured>;
  /** Written since the measurement began: it may have seen it or not. */
  meanwhile: Growth;
}

/** It is measured again after so much: what other gateways write is seen no later, and by that much a context may be too large. */
const MEASURE_EVERY_BYTES = 524_288;
const MEASURE_EVERY_FIELDS = 1_000;
const MEASURE_EVERY_CLAIMED_BYTES = 16_777_216;

/**
 * Keeps contexts within their limits (R32) without a request of its own for each write: a context is measured when this
 * process first writes to it, then its own writes are added up, as if each were new. Nobody is refused on an estimate: when it
 * is over a limit, the context is measured again.
 */
export class ContextMeter {
  private readonly estimates = new RecentMap<string, Estimate>();
  /** Measurements under way: however many writers wait, a context is read once. */
  private readonly measuring = new Map<string, Measuring>();

  /** `maxClaimedBytes`: of all large values of a context together. */
  constructor(private readonly maxClaimedBytes = 0) {}

  /**
   * @param measure reads the context
   * @throws ReachError `payload_too_large` when the context would be over a limit
   */
  async admit(root: string, batch: Batch, measure: () => Promise<Measured>): Promise<void> {
    if (![...batch.changes.values()].some(({ kind }) => kind !== 'delete')) return;
    const known = this.estimates.get(root);
    if (known !== undefined && this.fits(known, growthOf(batch, null))) {
      if (isStale(known)) this.measure(root, measure).catch(() => undefined); // the next one tries again
      return;
    }
    // One that began before may have missed what was written last.
    await this.measuring.get(root)?.result.catch(() => undefined);
    const measured = await this.measure(root, measure);
    const total = totalOf(measured);
    const growth = growthOf(batch, measured);
    if (!this.fits(total, growth) && grows(growth)) throw tooLarge(total, growth, this.maxClaimedBytes);
  }

  private measure(root: string, read: () => Promise<Measured>): Promise<Measured> {
    const running = this.measuring.get(root);
    if (running !== undefined) return running.result;
    const meanwhile: Growth = { ...NOTHING };
    const result = read()
      .then((measured) => {
        const estimate: Estimate = { ...totalOf(measured), since: { ...meanwhile } };
        add(estimate, meanwhile);
        this.estimates.set(root, estimate);
        return measured;
      })
      .finally(() => this.measuring.delete(root));
    this.measuring.set(root, { result, meanwhile });
    return result;
  }

  /** Counts what was written. */
  written(root: string, batch: Batch): void {
    const growth = growthOf(batch, null);
    const estimate = this.estimates.get(root);
    const meanwhile = this.measuring.get(root)?.meanwhile;
    if (meanwhile !== undefined) add(meanwhile, growth);
    if (estimate === undefined) return;
    add(estimate, growth);
    add(estimate.since, growth);
  }

  forget(root: string): void {
    this.estimates.delete(root);
  }

  private fits(now: Growth, grown: Growth): boolean {
    return (
      now.bytes + grown.bytes <= MAX_CONTEXT_BYTES &&
      now.fields + grown.fields <= MAX_CONTEXT_FIELDS &&
      now.claimed + grown.claimed <= this.maxClaimedBytes
    );
  }
}

/** By how much changes make a context larger; without a measurement everything counts as new, but what names its version. */
function growthOf({ changes, planned }: Batch, measured: Measured | null): Growth {
  const growth = { ...NOTHING };
  for (const [field, change] of changes) {
    const before = measured?.get(field);
    if (change.kind === 'delete') {
      if (before !== undefined) add(growth, { fields: -1, bytes: -before.bytes, claimed: -(before.claimed ?? 0) });
      continue;
    }
    const isClaimed = planned.has(field);
    growth.bytes += isClaimed ? CLAIM_BYTES : bytesOf(change) + 1;
    growth.claimed += isClaimed ? bytesOf(change) : 0;
    if (change.kind === 'set' && before !== undefined) {
      growth.bytes -= before.bytes;
      growth.claimed -= before.claimed ?? 0;
    }
    const isKnown = before !== undefined || (measured === null && change.kind === 'set' && (change.base ?? 0) > 0);
    if (isKnown) continue;
    growth.fields += 1;
    growth.bytes += Buffer.byteLength(field);
  }
  return growth;
}

function totalOf(measured: Measured): Growth {
  const total = { ...NOTHING };
  for (const { bytes, claimed = 0 } of measured.values()) add(total, { fields: 1, bytes, claimed });
  return total;
}

function add(to: Growth, { fields, bytes, claimed }: Growth): void {
  to.fields += fields;
  to.bytes += bytes;
  to.claimed += claimed;
}

const grows = ({ fields, bytes, claimed }: Growth): boolean => fields > 0 || bytes > 0 || claimed > 0;

const isStale = ({ since }: Estimate): boolean =>
  since.bytes > MEASURE_EVERY_BYTES ||
  since.fields > MEASURE_EVERY_FIELDS ||
  since.claimed > MEASURE_EVERY_CLAIMED_BYTES;

function tooLarge(now: Growth, grown: Growth, maxClaimedBytes: number): ReachError {
  const [limit, unit, has] =
    now.fields + grown.fields > MAX_CONTEXT_FIELDS
      ? [MAX_CONTEXT_FIELDS, 'fields', now.fields]
      : now.bytes + grown.bytes > MAX_CONTEXT_BYTES
        ? [MAX_CONTEXT_BYTES, 'bytes', now.bytes]
        : [maxClaimedBytes, 'bytes of large values', now.claimed];
  const message = `would take the context over its limit of ${limit} ${unit} (it has ${has})`;
  const fix = 'delete fields that nobody needs, or begin another context';
  return new ReachError('payload_too_large', `This ${message}; ${fix}`, {
    errors: [{ pointer: '/operations', message, fix }],
    extra: { details: { limit } },
  });
}

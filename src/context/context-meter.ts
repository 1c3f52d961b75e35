import { MAX_CONTEXT_BYTES, MAX_CONTEXT_FIELDS } from '../protocol/context';
import { ReachError } from '../protocol/reach-error';
import type { Changes } from './changes';
import { RecentMap } from './recent-map';

/** What a context takes: bytes by field. */
export type Measured = ReadonlyMap<string, { bytes: number }>;

interface Growth {
  fields: number;
  bytes: number;
}

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

/**
 * Keeps contexts within their limits (R32) without a request of its own for each write: a context is measured when this
 * process first writes to it, then its own writes are added up, as if each were new. Nobody is refused on an estimate: when it
 * is over a limit, the context is measured again.
 */
export class ContextMeter {
  private readonly estimates = new RecentMap<string, Estimate>();
  /** Measurements under way: however many writers wait, a context is read once. */
  private readonly measuring = new Map<string, Measuring>();

  /**
   * @param measure reads the context
   * @throws ReachError `payload_too_large` when the context would be over a limit
   */
  async admit(root: string, changes: Changes, measure: () => Promise<Measured>): Promise<void> {
    if (![...changes.values()].some(({ kind }) => kind !== 'delete')) return;
    const known = this.estimates.get(root);
    if (known !== undefined && fits(known, growthOf(changes, null))) {
      if (isStale(known)) this.measure(root, measure).catch(() => undefined); // the next one tries again
      return;
    }
    // One that began before may have missed what was written last.
    await this.measuring.get(root)?.result.catch(() => undefined);
    const measured = await this.measure(root, measure);
    const total = totalOf(measured);
    const growth = growthOf(changes, measured);
    if (!fits(total, growth) && (growth.bytes > 0 || growth.fields > 0)) throw tooLarge(total, growth);
  }

  private measure(root: string, read: () => Promise<Measured>): Promise<Measured> {
    const running = this.measuring.get(root);
    if (running !== undefined) return running.result;
    const meanwhile: Growth = { fields: 0, bytes: 0 };
    const result = read()
      .then((measured) => {
        const { fields, bytes } = totalOf(measured);
        this.estimates.set(root, {
          fields: fields + meanwhile.fields,
          bytes: bytes + meanwhile.bytes,
          since: { ...meanwhile },
        });
        return measured;
      })
      .finally(() => this.measuring.delete(root));
    this.measuring.set(root, { result, meanwhile });
    return result;
  }

  /** Counts what was written. */
  written(root: string, changes: Changes): void {
    const growth = growthOf(changes, null);
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
}

/** By how much changes make a context larger; without a measurement everything counts as new, but what names its version. */
function growthOf(changes: Changes, measured: Measured | null): Growth {
  const growth = { fields: 0, bytes: 0 };
  for (const [field, change] of changes) {
    const before = measured?.get(field);
    if (change.kind === 'delete') {
      if (before === undefined) continue;
      growth.fields -= 1;
      growth.bytes -= before.bytes;
      continue;
    }
    const texts = change.kind === 'set' ? [change.text] : change.texts;
    growth.bytes += texts.reduce((sum, text) => sum + Buffer.byteLength(text) + 1, 0);
    if (change.kind === 'set' && before !== undefined) growth.bytes -= before.bytes;
    const isKnown = before !== undefined || (measured === null && change.kind === 'set' && (change.base ?? 0) > 0);
    if (isKnown) continue;
    growth.fields += 1;
    growth.bytes += Buffer.byteLength(field);
  }
  return growth;
}

function totalOf(measured: Measured): Growth {
  let bytes = 0;
  for (const field of measured.values()) bytes += field.bytes;
  return { fields: measured.size, bytes };
}

function add(to: Growth, { fields, bytes }: Growth): void {
  to.fields += fields;
  to.bytes += bytes;
}

const isStale = ({ since }: Estimate): boolean =>
  since.bytes > MEASURE_EVERY_BYTES || since.fields > MEASURE_EVERY_FIELDS;

const fits = (now: Growth, grown: Growth): boolean =>
  now.bytes + grown.bytes <= MAX_CONTEXT_BYTES && now.fields + grown.fields <= MAX_CONTEXT_FIELDS;

function tooLarge(now: Growth, grown: Growth): ReachError {
  const tooMany = now.fields + grown.fields > MAX_CONTEXT_FIELDS;
  const limit = tooMany ? `${MAX_CONTEXT_FIELDS} fields` : `${MAX_CONTEXT_BYTES} bytes`;
  const has = tooMany ? `${now.fields}` : `${now.bytes}`;
  const message = `would take the context over its limit of ${limit} (it has ${has})`;
  return new ReachError(
    'payload_too_large',
    `This ${message}; delete fields that nobody needs, or begin another context`,
    {
      errors: [{ pointer: '/operations', message, fix: 'delete fields that nobody needs, or begin another context' }],
      extra: { details: { limit: tooMany ? MAX_CONTEXT_FIELDS : MAX_CONTEXT_BYTES } },
    },
  );
}

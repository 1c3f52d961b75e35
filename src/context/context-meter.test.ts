import { MAX_CONTEXT_BYTES, MAX_CONTEXT_FIELDS, type ContextOperation } from '../protocol/context';
import { changesOf as changes } from './changes';
import { ContextMeter } from './context-meter';

const set = (field: string, bytes: number): ContextOperation => ({
  op: 'set',
  field,
  value: 'x'.repeat(bytes - 2),
  force: true,
});
const MEGABYTE = 1_048_576;
/** A batch; with names, these fields of it go into blobs. */
const changesOf = (operations: ContextOperation[], ...planned: string[]) => ({
  changes: changes(operations, 64 * MEGABYTE),
  planned: new Set(planned),
});

/** A context that is measured as often as asked, and counts that. */
function contextOf(sizes: Record<string, number>, claimed: Record<string, number> = {}) {
  const measured = { times: 0 };
  const measure = () => {
    measured.times += 1;
    return Promise.resolve(
      new Map(Object.entries(sizes).map(([name, bytes]) => [name, { bytes, claimed: claimed[name] ?? 0 }])),
    );
  };
  return { measured, measure };
}

it('measures once, then adds up what is written, and measures again before it refuses', async () => {
  const meter = new ContextMeter();
  const sizes: Record<string, number> = {};
  const { measured, measure } = contextOf(sizes);
  const small = changesOf([set('a', 1_000)]);
  for (let n = 0; n < 100; n += 1) {
    await meter.admit('r', small, measure);
    meter.written('r', small);
  }
  expect(measured.times).toBe(1);
  Object.assign(sizes, { a: 1_000, b: 3.5 * MEGABYTE });
  meter.forget('r');
  await expect(meter.admit('r', changesOf([set('c', MEGABYTE)]), measure)).rejects.toMatchObject({
    code: 'payload_too_large',
    options: { extra: { details: { limit: MAX_CONTEXT_BYTES } } },
  });
});

it('counts what is replaced as gone, so a full context can still be changed and made smaller', async () => {
  const meter = new ContextMeter();
  const { measure } = contextOf({ a: MEGABYTE, b: MAX_CONTEXT_BYTES - MEGABYTE });
  await meter.admit('r', changesOf([set('a', MEGABYTE - 100)]), measure);
  await meter.admit('r', changesOf([{ op: 'delete', field: 'a', force: true }]), measure);
  await meter.admit('r', changesOf([{ op: 'delete', field: 'a', force: true }, set('c', MEGABYTE - 100)]), measure);
  await expect(meter.admit('r', changesOf([set('c', 100)]), measure)).rejects.toMatchObject({
    code: 'payload_too_large',
  });
});

it('a context that is over its limit already can be made smaller', async () => {
  const { measure } = contextOf({ a: MAX_CONTEXT_BYTES, b: MEGABYTE });
  await new ContextMeter().admit('r', changesOf([set('b', 1_000)]), measure);
});

it('counts fields', async () => {
  const names = Array.from({ length: MAX_CONTEXT_FIELDS }, (_, n) => [`f${n}`, 10] as const);
  const { measure } = contextOf(Object.fromEntries(names));
  const meter = new ContextMeter();
  await expect(meter.admit('r', changesOf([set('new', 10)]), measure)).rejects.toThrow(/20000 fields/);
  await meter.admit('r', changesOf([set('f1', 12)]), measure);
});

it('however many wait, one measures', async () => {
  const { measured, measure } = contextOf({});
  const meter = new ContextMeter();
  await Promise.all(Array.from({ length: 20 }, () => meter.admit('r', changesOf([set('a', 10)]), measure)));
  expect(measured.times).toBe(1);
});

it('what is written while it is measured counts, whether the measurement saw it or not', async () => {
  const meter = new ContextMeter();
  const sizes: Record<string, { bytes: number }> = {};
  let finish: () => void = () => undefined;
  const slowly = () => {
    const seen = new Map(Object.entries(sizes));
    return new Promise<typeof seen>((resolve) => {
      finish = () => resolve(seen);
    });
  };
  const promptly = () => Promise.resolve(new Map(Object.entries(sizes)));
  const write = (field: string, bytes: number) => {
    sizes[field] = { bytes };
    meter.written('r', changesOf([set(field, bytes)]));
  };
  await meter.admit('r', changesOf([set('a', MEGABYTE)]), promptly);
  write('a', MEGABYTE);
  // Over half a mebibyte was written: this one begins a measurement, and goes on without it.
  await meter.admit('r', changesOf([set('b', MEGABYTE)]), slowly);
  write('b', MEGABYTE);
  write('c', MEGABYTE);
  finish();
  await new Promise(setImmediate);
  write('d', MEGABYTE - 1_000);
  await expect(meter.admit('r', changesOf([set('e', 2_000)]), promptly)).rejects.toMatchObject({
    code: 'payload_too_large',
  });
});

it('counts what is in blobs apart, and takes in what replaces it', async () => {
  const sizes = { a: 200, b: 200 };
  const { measure } = contextOf(sizes, { a: 5 * MEGABYTE, b: 4 * MEGABYTE });
  const meter = new ContextMeter(10 * MEGABYTE);
  await meter.admit('r', changesOf([set('c', MEGABYTE)], 'c'), measure);
  await expect(meter.admit('r', changesOf([set('c', 2 * MEGABYTE)], 'c'), measure)).rejects.toThrow(
    /10485760 bytes of large values \(it has 9437184\)/,
  );
  await meter.admit('r', changesOf([set('a', 6 * MEGABYTE)], 'a'), measure);
  await meter.admit('r', changesOf([{ op: 'delete', field: 'b', force: true }, set('c', 5 * MEGABYTE)], 'c'), measure);
});

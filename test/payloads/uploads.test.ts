import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { BlobStore } from '../../src/payloads';
import { FileStore } from '../../src/payloads/file-store';
import { PayloadReader } from '../../src/payloads/reader';
import { Uploads } from '../../src/payloads/uploads';
import { chunksOf } from '../../src/protocol/payload-ref';
import { sha256 } from './support';

const HOUR_MS = 3_600_000;
let offsetMs = 0;
const nowMs = () => new Date().getTime() + offsetMs;
const objects = new FileStore(mkdtempSync(join(tmpdir(), 'agent-reach-uploads-')));
const blobs = new BlobStore({ objects, area: 'test/payloads', retentionMs: 240 * HOUR_MS, nowMs });
const settings = { objects, blobs, reader: new PayloadReader(null), area: 'test/uploads', maxBytes: 1_000_000 };
const uploads = new Uploads({ ...settings, ttlMs: 24 * HOUR_MS, nowMs });

beforeEach(() => (offsetMs = 0));

it('makes the content again of chunks of any size, in any order, sent any number of times', async () => {
  let run = 0;
  const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 300 });
  await fc.assert(
    fc.asyncProperty(text, fc.integer({ min: 1, max: 60 }), fc.infiniteStream(fc.nat()), async (value, size, order) => {
      const content = Buffer.from(JSON.stringify({ value }));
      const chunks = [...chunksOf(content, size)];
      const id = { principal: 'me', messageId: `random-${run++}` };
      const twice = [...chunks, ...chunks].map((chunk) => ({ chunk, at: order.next().value }));
      for (const { chunk } of twice.sort((a, b) => a.at - b.at))
        await uploads.putChunk(id, chunk.sequence, chunk.bytes);
      const { payload_ref } = await uploads.complete(id, { chunks: chunks.length, sha256: sha256(content) });
      expect(await blobs.get(payload_ref)).toEqual(content);
    }),
    { numRuns: 25 },
  );
});

it('keeps the uploads of two senders apart, whatever their message ids', async () => {
  const content = (who: string) => Buffer.from(JSON.stringify({ who }));
  const ids = [
    { principal: 'a', messageId: 'm' },
    { principal: 'b', messageId: 'm' },
    { principal: 'a1', messageId: 'm' },
    { principal: 'a', messageId: '1m' },
    { principal: 'a', messageId: '../m' },
  ];
  for (const id of ids) await uploads.putChunk(id, 0, content(JSON.stringify(id)));
  for (const id of ids) {
    const mine = content(JSON.stringify(id));
    const { payload_ref } = await uploads.complete(id, { chunks: 1, sha256: sha256(mine) });
    expect(await blobs.get(payload_ref)).toEqual(mine);
  }
});

it('drops what nobody goes on with, and keeps what was completed', async () => {
  const started = { principal: 'me', messageId: 'started' };
  const finished = { principal: 'me', messageId: 'finished' };
  const content = Buffer.from('{"fine":true}');
  await uploads.putChunk(started, 0, content);
  await uploads.putChunk(finished, 0, content);
  const { payload_ref } = await uploads.complete(finished, { chunks: 1, sha256: sha256(content) });
  offsetMs = 23 * HOUR_MS;
  expect(await uploads.sweep()).toBe(0);
  expect((await uploads.state(started)).chunks).toHaveLength(1);
  offsetMs = 25 * HOUR_MS;
  expect(await uploads.sweep()).toBeGreaterThan(0);
  await expect(uploads.state(started)).rejects.toMatchObject({ code: 'not_found' });
  expect(await blobs.get(payload_ref)).toEqual(content);
});

it('that two complete at once gives both the same', async () => {
  const id = { principal: 'me', messageId: 'raced' };
  const content = Buffer.from('{"raced":true}');
  await uploads.putChunk(id, 0, content);
  const claim = { chunks: 1, sha256: sha256(content) };
  const [one, two] = await Promise.allSettled([uploads.complete(id, claim), uploads.complete(id, claim)]);
  const refs = [one, two].flatMap((outcome) => (outcome?.status === 'fulfilled' ? [outcome.value.payload_ref] : []));
  expect(new Set(refs)).toEqual(new Set([`sha256:${sha256(content)}:${content.length}`]));
  expect((await uploads.complete(id, claim)).payload_ref).toBe(refs[0]);
});

it.each([
  ['has listed them', 'list'],
  ['comes to read them', 'readInto'],
] as const)('one whose chunks were taken by another completion when it %s answers the same', async (_when, step) => {
  const id = { principal: 'me', messageId: `overtaken ${step}` };
  const content = Buffer.from(JSON.stringify({ overtaken: step }));
  const claim = { chunks: 1, sha256: sha256(content) };
  await uploads.putChunk(id, 0, content);
  let other: Promise<unknown> | undefined;
  const slow = new Proxy(objects, {
    get(target, name: keyof FileStore) {
      if (name === 'list' && step === 'list')
        return async function* (area: string) {
          await (other ??= uploads.complete(id, claim));
          yield* target.list(area);
        };
      if (name === 'readInto' && step === 'readInto')
        return async (key: string, into: Buffer) => {
          await (other ??= uploads.complete(id, claim));
          return target.readInto(key, into);
        };
      const member = target[name] as unknown;
      return typeof member === 'function' ? (member.bind(target) as unknown) : member;
    },
  });
  const late = new Uploads({ ...settings, objects: slow, ttlMs: 24 * HOUR_MS, nowMs });
  expect(await late.complete(id, claim)).toEqual(await other);
});

it('of a payload that was collected since is unknown, and can be sent again', async () => {
  const id = { principal: 'me', messageId: 'forgotten' };
  const content = Buffer.from('{"forgotten":true}');
  const claim = { chunks: 1, sha256: sha256(content) };
  await uploads.putChunk(id, 0, content);
  const { payload_ref } = await uploads.complete(id, claim);
  await objects.delete(`test/payloads/${sha256(content).slice(0, 2)}/${sha256(content)}`);
  await expect(uploads.complete(id, claim)).rejects.toMatchObject({ code: 'not_found' });
  await uploads.putChunk(id, 0, content);
  expect((await uploads.complete(id, claim)).payload_ref).toBe(payload_ref);
});

/** What becomes of reaches while the store of large payloads does not answer, and what waits for it takes. */
import { mkdtempSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { Readable } from 'node:stream';
import { createDispatcher, HttpAdapter, type AdapterContext } from '../../src/adapters';
import { BlobStore, Payloads, Uploads } from '../../src/payloads';
import { FileStore } from '../../src/payloads/file-store';
import type { ObjectStore } from '../../src/payloads/object-store';
import { PayloadReader } from '../../src/payloads/reader';
import { storeUnusable } from '../../src/payloads/storage-errors';
import { parseEgressAllow } from '../../src/policy/egress';
import type { AgentCall } from '../../src/protocol/shapes';
import { sha256 } from './support';

const directory = () => mkdtempSync(join(tmpdir(), 'agent-reach-outages-'));

/** Payloads over files whose operations are what the test says. */
function payloadsOver(objects: ObjectStore, reader = new PayloadReader(null)) {
  const blobs = new BlobStore({ objects, area: 'test/payloads', retentionMs: 86_400_000 });
  const maxBytes = 10_000_000;
  const uploads = new Uploads({ objects, blobs, reader, area: 'test/uploads', maxBytes, ttlMs: 86_400_000 });
  return { blobs, payloads: new Payloads({ blobs, uploads, reader, maxBytes }) };
}

/** A file store with some operations replaced. */
const altered = (own: Partial<ObjectStore>): ObjectStore => Object.assign(new FileStore(directory()), own);

/** A store that is away for `outageMs` from the first time on that it is asked while `broken`. */
function faltering(outageMs: number): { objects: ObjectStore; breakDown(): void; asked: () => number } {
  const files = new FileStore(directory());
  let backMs = 0;
  let asked = 0;
  const objects = new Proxy(files, {
    get(target, name: keyof FileStore) {
      const member = target[name] as unknown;
      if (typeof member !== 'function') return member;
      return (...args: unknown[]) => {
        if (backMs > 0) asked += 1;
        if (performance.now() < backMs) return Promise.reject(storeUnusable(name, new Error('away')));
        return (member as (...all: unknown[]) => unknown).apply(target, args);
      };
    },
  });
  return { objects, breakDown: () => (backMs = performance.now() + outageMs), asked: () => asked };
}

describe('an answer that meets an outage', () => {
  const content = Buffer.from(JSON.stringify({ answer: 42, text: 'x'.repeat(1_000) }));
  const ref = `sha256:${sha256(content)}:${content.length}`;

  it('that the agent has uploaded is taken as soon as the store is back', async () => {
    const store = faltering(700);
    const { blobs, payloads } = payloadsOver(store.objects);
    await blobs.put(content);
    store.breakDown();
    const kept = await payloads.claimUploaded(ref, undefined);
    expect(kept.claim).toMatchObject({ ref });
    expect(store.asked()).toBeGreaterThan(1);
  });

  it('is waited for as long as there is time, and no longer', async () => {
    const store = faltering(600_000);
    const { payloads } = payloadsOver(store.objects);
    store.breakDown();
    const startedMs = performance.now();
    const gone = payloads.keepAnswer(content, {}, { withinMs: 500 });
    await expect(gone).rejects.toMatchObject({ code: 'engine_unavailable', options: { retryAfterMs: 1_000 } });
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(450);
    expect(store.asked()).toBeGreaterThanOrEqual(3);
    await expect(payloads.claimUploaded(ref, undefined, { withinMs: 0 })).rejects.toMatchObject({
      code: 'engine_unavailable',
    });
  });

  it('is not waited for once the attempt is stopped', async () => {
    const store = faltering(600_000);
    store.breakDown();
    const stop = new AbortController();
    const kept = payloadsOver(store.objects).payloads.keepAnswer(
      content,
      {},
      { withinMs: 60_000, signal: stop.signal },
    );
    stop.abort();
    await expect(kept).rejects.toMatchObject({ name: 'AbortError' });
  });

  it('is not waited for where waiting does not help', async () => {
    const { payloads } = payloadsOver(new FileStore(directory()));
    await expect(payloads.claimUploaded(ref, undefined, { withinMs: 60_000 })).rejects.toMatchObject({
      code: 'not_found',
    });
  });
});

describe('many large payloads at once', () => {
  const PARALLEL = 12;
  const value = { text: 'x'.repeat(1_000_000) };
  const content = Buffer.from(JSON.stringify(value));

  it('are fetched only as fast as they are read', async () => {
    let inMemory = 0;
    let most = 0;
    class SlowReader extends PayloadReader {
      override async read(...args: Parameters<PayloadReader['read']>): ReturnType<PayloadReader['read']> {
        await new Promise((resolve) => setTimeout(resolve, 5));
        return super.read(...args).finally(() => (inMemory -= content.length));
      }
    }
    const files = new FileStore(directory());
    const objects = altered({
      put: (...args) => files.put(...args),
      info: (key) => files.info(key),
      touch: (...args) => files.touch(...args),
      async get(key) {
        most = Math.max(most, (inMemory += content.length));
        return files.get(key);
      },
    });
    const { blobs, payloads } = payloadsOver(objects, new SlowReader(null, 2.5 * content.length));
    const ref = await blobs.put(content);
    const read = await Promise.all(
      Array.from({ length: PARALLEL }, (_, n) => (n % 2 ? payloads.load(ref) : payloads.outline(ref, []))),
    );
    expect(read).toHaveLength(PARALLEL);
    expect(most).toBe(2 * content.length);
  });

  it('are not fetched by a reference that says less than there is', async () => {
    const got: string[] = [];
    const files = new FileStore(directory());
    const { blobs, payloads } = payloadsOver(files);
    await blobs.put(content);
    const get = files.get.bind(files);
    files.get = (key) => {
      got.push(key);
      return get(key);
    };
    await expect(payloads.load(`sha256:${sha256(content)}:5`)).rejects.toMatchObject({ code: 'not_found' });
    expect(got).toEqual([]);
  });
});

describe('a store that breaks off while a payload is sent', () => {
  const content = Buffer.from(JSON.stringify({ text: 'x'.repeat(600_000) }));
  const half = content.subarray(0, 300_000);

  it.each([
    [
      'with an error',
      () =>
        Readable.from(
          (function* () {
            yield half;
            throw Object.assign(new Error('aborted'), { code: 'ECONNRESET' });
          })(),
        ),
    ],
    ['without a word', () => Readable.from([half])],
  ])('%s is not the agent’s fault, and the agent has received nothing', async (_how, stream) => {
    const agent = createServer((request, response) => request.resume().on('end', () => response.end('{}')));
    await new Promise<void>((resolve) => agent.listen(0, '127.0.0.1', resolve));
    const egress = parseEgressAllow(['127.0.0.0/8']);
    const adapter = new HttpAdapter({ dispatcher: createDispatcher({ egress }), egress, readToken: () => undefined });
    const files = new FileStore(directory());
    const { blobs, payloads } = payloadsOver(files);
    const ref = await blobs.put(content);
    files.stream = () => Promise.resolve(stream());
    const target = {
      descriptor: { name: 'reader', auth: { type: 'none' } },
      instance: { host: `http://127.0.0.1:${(agent.address() as AddressInfo).port}/` },
    };
    const context: AdapterContext = {
      signal: new AbortController().signal,
      budgetMs: 10_000,
      maxResponseBytes: 1_000,
      traceparent: '00-1-2-01',
      reachToken: 'token',
      payload: await payloads.source(ref),
    };
    const call = { reach_id: 'r-1', idempotency_key: 'k-1', deadline_ms: 1_000 } as AgentCall;
    await expect(adapter.invoke(call, target as never, context)).rejects.toMatchObject({
      code: 'engine_unavailable',
      options: { received: 'no', retryAfterMs: 1_000 },
    });
    agent.closeAllConnections();
    await new Promise((resolve) => agent.close(resolve));
    await adapter.close();
  });
});

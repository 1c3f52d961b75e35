import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { createEmbedder, type EmbedderOptions } from './http-embedder';

interface Asked {
  path: string;
  headers: IncomingHttpHeaders;
  body: { input: string[] } & Record<string, unknown>;
}

/** An OpenAI-compatible endpoint whose vectors are [number of letters, 1]. */
let server: Server;
let url: string;
let asked: Asked[];
let answer: (body: Asked['body'], response: ServerResponse) => void;

const vectorsOf = (body: Asked['body']) => ({
  object: 'list',
  data: body.input.map((text, index) => ({ object: 'embedding', index, embedding: [text.length, 1] })),
});
const reply = (response: ServerResponse, value: unknown, status = 200) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));

beforeEach(async () => {
  asked = [];
  answer = (body, response) => reply(response, vectorsOf(body));
  server = createServer((request, response) => {
    void json(request).then((body) => {
      asked.push({ path: request.url!, headers: request.headers, body: body as Asked['body'] });
      answer(body as Asked['body'], response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

let clock = 0;
const embedderWith = (options: Partial<EmbedderOptions> = {}) =>
  createEmbedder({ url, model: 'm', now: () => clock, timeoutMs: 60_000, ...options });

test('speaks the OpenAI shape and gives unit vectors in the order asked for', async () => {
  answer = (body, response) => {
    const { data } = vectorsOf(body);
    reply(response, { data: data.reverse(), usage: { total_tokens: 3 } });
  };
  const vectors = await embedderWith({ apiKey: 'k', inputType: 'query', dimensions: 2 }).embed(['abc', 'a', 'abc']);
  expect(asked).toHaveLength(1);
  expect(asked[0]).toMatchObject({
    path: '/v1/embeddings',
    headers: { authorization: 'Bearer k', 'content-type': 'application/json' },
    body: { model: 'm', input: ['abc', 'a'], input_type: 'query', dimensions: 2 },
  });
  expect(vectors[0]).toEqual(Float32Array.of(3 / Math.sqrt(10), 1 / Math.sqrt(10)));
  expect(vectors[1]).toEqual(Float32Array.of(Math.SQRT1_2, Math.SQRT1_2));
  expect(vectors[2]).toEqual(vectors[0]);
});

test('without a key or further wishes none are sent', async () => {
  await embedderWith().embed(['a']);
  expect(asked[0]!.headers).not.toHaveProperty('authorization');
  expect(asked[0]!.body).not.toHaveProperty('input_type');
});

test('asks for each text once, also when many ask at the same time', async () => {
  const embedder = embedderWith();
  await Promise.all([embedder.embed(['a', 'b']), embedder.embed(['b', 'c']), embedder.embed(['a'])]);
  await embedder.embed(['a', 'b', 'c']);
  expect(asked.flatMap(({ body }) => body.input).sort()).toEqual(['a', 'b', 'c']);
});

test('sends batches one after the other', async () => {
  let open = 0;
  answer = (body, response) => {
    expect(++open).toBe(1);
    setImmediate(() => {
      open--;
      reply(response, vectorsOf(body));
    });
  };
  await embedderWith({ batchSize: 2 }).embed(['a', 'b', 'c', 'd', 'e']);
  expect(asked.map(({ body }) => body.input.length)).toEqual([2, 2, 1]);
});

test.each<[string, (response: ServerResponse) => void]>([
  ['an error status', (response) => reply(response, {}, 503)],
  ['no JSON', (response) => response.end('<html>')],
  ['another shape', (response) => reply(response, { embeddings: [] })],
  ['too few vectors', (response) => reply(response, { data: [] })],
  ['a vector without length', (response) => reply(response, { data: [{ index: 0, embedding: [0, 0] }] })],
  ['a reset', (response) => response.destroy()],
])('%s is a failure', async (_what, respond) => {
  answer = (_body, response) => respond(response);
  await expect(embedderWith().embed(['a'])).rejects.toThrow(/embeddings endpoint cannot be used/);
});

test('vectors of different lengths in one answer are a failure', async () => {
  answer = (_body, response) =>
    reply(response, {
      data: [
        { index: 0, embedding: [1] },
        { index: 1, embedding: [1, 2] },
      ],
    });
  await expect(embedderWith().embed(['a', 'b'])).rejects.toThrow(/different lengths/);
});

test('a slow endpoint is given up after the timeout', async () => {
  answer = () => {};
  await expect(embedderWith({ timeoutMs: 30 }).embed(['a'])).rejects.toThrow(/cannot be used/);
});

test('after a failure the endpoint is left alone for a while; what is cached is still served', async () => {
  clock = 0;
  const embedder = embedderWith({ coolOffMs: 1000, batchSize: 1 });
  await embedder.embed(['known']);
  answer = (_body, response) => reply(response, {}, 500);
  await expect(embedder.embed(['x', 'y', 'z'])).rejects.toThrow();
  expect(asked).toHaveLength(2); // the first batch failed, the others were not even sent
  answer = (body, response) => reply(response, vectorsOf(body));
  clock = 999;
  await expect(embedder.embed(['x'])).rejects.toThrow(/left alone/);
  await expect(embedder.embed(['known'])).resolves.toHaveLength(1);
  expect(asked).toHaveLength(2);
  clock = 1001;
  await expect(embedder.embed(['x'])).resolves.toHaveLength(1);
});

test('a restart finds the vectors in the file', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'embedder-'));
  const cacheFile = join(dir, 'vectors.bin');
  const first = embedderWith({ cacheFile });
  const vectors = await first.embed(['a', 'b']);
  await first.close();
  const second = embedderWith({ cacheFile });
  expect(await second.embed(['a', 'b'])).toEqual(vectors);
  expect(asked).toHaveLength(1);
  await second.close();
  rmSync(dir, { recursive: true, force: true });
});

/** The evaluation end to end, as a process, against an embeddings endpoint over HTTP. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WordEmbedder } from '../../test/routing/fixtures';

const SWC = `
  const { transformSync } = require('@swc/core');
  require.extensions['.ts'] = (module, file) => module._compile(transformSync(require('node:fs').readFileSync(file, 'utf8'), {
    filename: file, jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, module: { type: 'commonjs' } }).code, file);`;

const SET = {
  train: [
    ['reserve a table for dinner', 'book_table'],
    ['table for two tonight', 'book_table'],
    ['play some jazz music', 'play_music'],
    ['music by the band', 'play_music'],
    ['will it rain tomorrow', 'weather'],
    ['weather forecast rain', 'weather'],
  ],
  test: [
    ['a table for dinner please', 'book_table'],
    ['jazz music now', 'play_music'],
    ['rain forecast', 'weather'],
  ],
  oos_test: [['knit socks from wool', 'oos']],
};

let dir: string;
let server: Server;
let url: string;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'evaluation-'));
  const embedder = new WordEmbedder();
  server = createServer((req, res) => {
    let body = '';
    req.on('data', (chunk: Buffer) => (body += chunk.toString()));
    req.on('end', () => {
      const { input } = JSON.parse(body) as { input: string[] };
      void embedder.embed(input).then((vectors) => {
        const data = vectors.map((vector, index) => ({ index, embedding: [...vector] }));
        res.setHeader('content-type', 'application/json').end(JSON.stringify({ data }));
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
});

afterAll(async () => {
  await new Promise((resolve) => server.close(resolve));
  rmSync(dir, { recursive: true, force: true });
});

function run(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const swc = join(dir, 'swc.cjs');
  writeFileSync(swc, SWC);
  const node = ['-r', swc, join(__dirname, 'main.ts'), ...args];
  // The hook is outside of the project, so it is told where packages are.
  const env = { ...process.env, NODE_PATH: join(__dirname, '../../node_modules') };
  return new Promise((resolve) => {
    execFile(process.execPath, node, { env }, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr });
    });
  });
}

test('a set from a file is scored beside the baselines, and the figures are written', async () => {
  const set = join(dir, 'tiny.json');
  const out = join(dir, 'out', 'routing.json');
  writeFileSync(set, JSON.stringify(SET));
  const cache = join(dir, 'vectors.bin');
  const args = ['--set', set, '--per-label', '2', '--out', out, '--embeddings-url', url, '--model', 'words'];
  const { code, stdout, stderr } = await run(...args, '--vector-cache', cache);
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/tiny\.json.*: 3 abilities, 6 examples/);
  const figures = JSON.parse(readFileSync(out, 'utf8')) as Record<string, unknown>;
  const four = {
    top1: expect.any(Number),
    top3: expect.any(Number),
    macro_f1: expect.any(Number),
    offtopic_auroc: expect.any(Number),
  };
  expect(figures).toMatchObject({
    set: 'tiny.json',
    n: 3,
    n_offtopic: 1,
    model: 'words',
    seed: 1,
    per_label: 2,
    ours: { top1: 1, top3: 1, macro_f1: 1, offtopic_auroc: 1 },
    baselines: { lexical: four, bm25: four, cosine_description: four, nearest_example: four, centroid: four },
    by_language: { latin: { n: 3, ours: { top1: 1 } } },
    calibration: { ece: expect.any(Number), bins: expect.any(Array) },
  });
}, 60_000);

test('a file of another shape, or an option that is none, ends with what was expected', async () => {
  const set = join(dir, 'bad.json');
  writeFileSync(set, JSON.stringify({ train: [['text only']], test: [] }));
  const bad = await run('--set', set);
  expect(bad.code).toBe(2);
  expect(bad.stderr).toMatch(/train\[0\] is not a pair of text and label; expected JSON of the shape/);
  const usage = await run('--sample', 'many');
  expect(usage.code).toBe(2);
  expect(usage.stderr).toMatch(
    /--sample must be a whole number of at least 1, not "many"[^]*usage: npm run bench:routing/,
  );
}, 60_000);

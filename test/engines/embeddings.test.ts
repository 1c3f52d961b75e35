import { embeddingsSupported, startEmbeddings, type RunningEngine } from '../../src/engines';
import { isListening } from '../../src/engines/ports';

const { supported, reason } = embeddingsSupported();
let engine: RunningEngine | undefined;
afterEach(() => engine?.stop());

(supported ? it : it.skip)(`answers like OpenAI, then frees its port${supported ? '' : ` (${reason})`}`, async () => {
  engine = await startEmbeddings();
  expect(engine.address).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1$/);
  const body = JSON.stringify({ input: ['refund', '退款'], input_type: 'query' });
  const response = await fetch(`${engine.address}/embeddings`, { method: 'POST', body });
  const { data } = (await response.json()) as { data: { embedding: number[] }[] };
  expect(data.map(({ embedding }) => embedding.length)).toEqual([384, 384]);
  await engine.stop();
  expect(await isListening(Number(new URL(engine.address).port))).toBe(false);
});

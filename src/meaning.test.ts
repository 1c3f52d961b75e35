import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { agent, WordEmbedder, world } from '../test/routing/fixtures';
import { loadConfig } from './config';
import { createRouter, type WarmRouter } from './meaning';
import type { AbilityText } from './protocol/matching';
import type { RegistryView } from './registry';
import { textIdOf } from './routing/replay/inputs';

const AGENTS = [
  agent({
    name: 'cobbler',
    version: '1.0.0',
    capabilities: [{ name: 'mend', description: 'mends torn shoes and boots', examples: ['my boots have a hole'] }],
  }),
  agent({
    name: 'baker',
    version: '1.0.0',
    capabilities: [{ name: 'bake', description: 'bakes bread and cakes', examples: ['a cake for a birthday'] }],
  }),
];

/** Descriptors that a replay tries, about what the live ones are about. */
const TRIED: AbilityText[] = Array.from({ length: 60 }, (_, n) => ({
  key: `tried-${n}`,
  texts: [`repairs shoes of kind ${n}`, `my boots number ${n} have a hole`, `bread ${n} for boots ${n}`],
}));

let endpoint: Server;
let url: string;

beforeAll(async () => {
  const embedder = new WordEmbedder();
  endpoint = createServer((request, response) => {
    const answer = async () => {
      const { input } = (await json(request)) as { input: string[] };
      const data = (await embedder.embed(input)).map((vector, index) => ({ index, embedding: [...vector] }));
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ data }));
    };
    void answer();
  });
  await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/v1`;
});
afterAll(() => new Promise((resolve) => endpoint.close(resolve)));

function routerWith(embeddings: { url?: string }): WarmRouter {
  const view = { world: () => world({ agents: AGENTS }), onChange: () => () => undefined };
  // A starved process must not turn this into a comparison of words with vectors.
  const overrides = { embeddings: { ...embeddings, timeout: '60s' } };
  return createRouter(loadConfig({ overrides }), view as unknown as RegistryView, {
    logger: { warn: () => undefined, info: () => undefined } as never,
    recorder: { madeBy: 'test', wants: () => false, keep: () => undefined, lost: () => undefined },
  });
}

it.each(['dense', 'lexical'])('a replay with other descriptors changes nothing for requests (%s)', async (by) => {
  const warm = routerWith(by === 'dense' ? { url } : {});
  try {
    await warm.router.warm();
    const search = () => warm.router.searchAbilities('a hole in my boots');
    const before = await search();
    const { compare, close } = warm.comparer({ extra: TRIED });
    const offers = [...warm.router.texts(), ...TRIED].map((text) => ({ text_id: textIdOf(text) }));
    expect((await compare('a hole in my boots', offers as never))?.size).toBeGreaterThan(0);
    await close();
    expect(await search()).toEqual(before);
  } finally {
    await warm.close();
  }
});

it('tried descriptors are measured together with those that are there, whoever is compared first', async () => {
  const warm = routerWith({ url });
  try {
    const factsAfter = async (first: readonly AbilityText[]) => {
      const { compare, close } = warm.comparer({ extra: TRIED });
      const offers = (texts: readonly AbilityText[]) => texts.map((text) => ({ text_id: textIdOf(text) })) as never;
      await compare('shoes', offers(first));
      const facts = await compare('a hole in my boots', offers(TRIED.slice(0, 3)));
      await close();
      return [...facts!.values()];
    };
    expect(await factsAfter(TRIED.slice(5, 6))).toEqual(await factsAfter(TRIED.slice(20, 40)));
  } finally {
    await warm.close();
  }
});

import { WordEmbedder } from '../../../test/routing/fixtures';
import { LexicalMatcher } from '../../embeddings';
import type { AbilityText } from '../../protocol/matching';
import { SemanticMatcher } from './semantic-matcher';

const ability = (...texts: string[]): AbilityText => ({ key: texts.join('|'), texts });
const SHOES = ability('mends shoes', 'torn boots');
const BREAD = ability('bakes bread', 'cakes and rolls');

function setUp(patienceMs = 60_000) {
  const embedder = new WordEmbedder();
  const matcher = new SemanticMatcher({ embedder, fallback: new LexicalMatcher(), patienceMs });
  return { embedder, matcher };
}

test('prepared, a comparison asks for the vector of the query alone', async () => {
  const { embedder, matcher } = setUp();
  await matcher.prepare([SHOES, BREAD]);
  embedder.asked.length = 0;
  const [best] = await matcher.similarities('boots', [SHOES, BREAD], { limit: 1 });
  expect(best).toMatchObject({ position: 0, by: 'dense', degraded: false });
  expect(embedder.asked).toEqual([['boots']]);
});

test('a changed set of abilities asks only for texts that are new', async () => {
  const { embedder, matcher } = setUp();
  await matcher.prepare([SHOES, BREAD]);
  embedder.asked.length = 0;
  const edited = ability('bakes bread', 'fresh croissants');
  await matcher.prepare([SHOES, edited]);
  expect(embedder.asked).toEqual([['fresh croissants']]);
  await matcher.prepare([SHOES, edited]);
  expect(embedder.asked).toHaveLength(1);
});

test('an ability that was not prepared for is compared all the same', async () => {
  const { matcher } = setUp();
  await matcher.prepare([SHOES]);
  const [best] = await matcher.similarities('cakes', [SHOES, BREAD], { limit: 1 });
  expect(best).toMatchObject({ position: 1, by: 'dense' });
});

test('many at once share the work', async () => {
  const { embedder, matcher } = setUp();
  await Promise.all(Array.from({ length: 10 }, () => matcher.similarities('boots', [SHOES, BREAD])));
  expect(embedder.asked.filter((texts) => texts.length > 1)).toHaveLength(1);
});

test('a failing endpoint leaves it to the words, flagged; when it works again so do vectors', async () => {
  const { embedder, matcher } = setUp();
  const working = embedder.embed.bind(embedder);
  embedder.embed = () => Promise.reject(new Error('down'));
  await expect(matcher.prepare([SHOES, BREAD])).rejects.toThrow('down');
  expect((await matcher.similarities('boots', [SHOES, BREAD]))[0]).toMatchObject({
    position: 0,
    by: 'lexical',
    degraded: true,
  });
  embedder.embed = working;
  expect((await matcher.similarities('boots', [SHOES, BREAD]))[0]).toMatchObject({
    position: 0,
    by: 'dense',
    degraded: false,
  });
});

test('a slow endpoint is waited for no longer than patience lasts', async () => {
  const { embedder, matcher } = setUp(20);
  embedder.embed = () => new Promise(() => {});
  expect((await matcher.similarities('boots', [SHOES, BREAD]))[0]).toMatchObject({ by: 'lexical', degraded: true });
});

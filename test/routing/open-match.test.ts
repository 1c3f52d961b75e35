/** Open matches (`ability: "*"`): found, off topic, in doubt, not ready, without text; and a search that says the same. */
import { LexicalMatcher } from '../../src/embeddings';
import { ReachError } from '../../src/protocol/reach-error';
import type { JsonObject } from '../../src/protocol/shapes';
import {
  DEFAULT_ROUTER_CONFIG,
  Router,
  SemanticMatcher,
  type OpenMatchSettings,
  type RouteRequest,
} from '../../src/routing';
import { agent, instance, request, WordEmbedder, world } from './fixtures';

const weather = agent({
  name: 'w',
  version: '1.0.0',
  capabilities: [{ name: 'weather', description: '明天的天气预报 rain and sunshine tomorrow' }],
});
const sums = agent({ name: 's', version: '1.0.0', capabilities: [{ name: 'sums', description: 'adds numbers' }] });
const asleep = { ...weather, instances: [instance({ status: 'draining', status_reason: 'deploy' })] };

function routerOf(agents = [weather, sums], openMatch: Partial<OpenMatchSettings> = {}): Router {
  const view = world({ agents });
  const matcher = new SemanticMatcher({
    embedder: new WordEmbedder(),
    fallback: new LexicalMatcher(),
    patienceMs: 60_000,
  });
  const config = { ...DEFAULT_ROUTER_CONFIG, openMatch: { ...DEFAULT_ROUTER_CONFIG.openMatch, ...openMatch } };
  return new Router({ world: () => view, matcher, config });
}

const open = (text: string, overrides: Partial<RouteRequest> = {}) =>
  request({ ability: '*', payload: { text }, ...overrides });

async function refusal(router: Router, asked: RouteRequest): Promise<ReachError> {
  const caught: unknown = await router.route(asked).catch((error: unknown) => error);
  if (caught instanceof ReachError) return caught;
  throw new Error('somebody was chosen, or it failed otherwise', { cause: caught });
}

test('nothing fits: 404 with what is nearest, as a search and a dry run say', async () => {
  const router = routerOf();
  const { code, message, options } = await refusal(router, open('who wrote Hamlet'));
  expect(code).toBe('ability_not_found');
  expect(message).toMatch(
    /^no ability fits what the payload says; nearest is \w+ of \w \(0\.\d\d\), and 0\.5 is needed; /,
  );
  expect(options.diagnosis).toMatchObject({
    reason: 'off_topic',
    advice: expect.stringContaining('GET /v1/abilities'),
  });
  const { candidates } = options.diagnosis!;
  expect(candidates!.map(({ ability }) => ability).sort()).toEqual(['sums', 'weather']);
  for (const { score } of candidates!) expect(score).toBeLessThan(0.5);
  expect(await router.searchAbilities('who wrote Hamlet')).toEqual(candidates);
  const dry = await router.explain(open('who wrote Hamlet'));
  expect(dry).toMatchObject({ agent_name: null, code: 'ability_not_found', diagnosis: { candidates } });
});

test('what is needed is configurable: at 0 whatever is nearest is taken, at 1 nothing is', async () => {
  const { chosen } = await routerOf(undefined, { minFit: 0 }).route(open('who wrote about sunshine'));
  expect(chosen.ability).toBe('weather');
  expect((await refusal(routerOf(undefined, { minFit: 1 }), open('rain tomorrow'))).code).toBe('ability_not_found');
});

test('who has to do with it but is not ready is what the caller is told, not that nothing fits', async () => {
  const { code, options } = await refusal(routerOf([asleep, sums]), open('rain and sunshine tomorrow'));
  expect(code).toBe('no_ready_instance');
  expect(options.diagnosis!.agents).toMatchObject([{ agent_name: 'w', status: 'draining' }]);
  const waits = await routerOf([asleep, sums]).route(open('rain and sunshine tomorrow', { mode: 'async' }));
  expect(waits.chosen).toMatchObject({ agent_name: 'w', ability: 'weather' });
  expect((await refusal(routerOf([asleep, sums]), open('who wrote Hamlet'))).options.diagnosis!.reason).toBe(
    'off_topic',
  );
});

describe('several that are alike', () => {
  const twin = (name: string, ability: string) =>
    agent({ name, version: '1.0.0', capabilities: [{ name: ability, description: 'rain and sunshine tomorrow' }] });
  const twins = [twin('x', 'forecast'), twin('y', 'outlook')];

  test('one is taken, unless more confidence is asked for; then 404 says between whom', async () => {
    expect((await routerOf(twins).route(open('rain and sunshine tomorrow'))).chosen.ability).toMatch(
      /forecast|outlook/,
    );
    const { code, message, options } = await refusal(
      routerOf(twins, { minConfidence: 0.7 }),
      open('rain and sunshine tomorrow'),
    );
    expect(code).toBe('ability_not_found');
    expect(options.diagnosis!.reason).toBe('ambiguous');
    expect(options.diagnosis!.candidates!.map(({ ability }) => ability).sort()).toEqual(['forecast', 'outlook']);
    for (const { confidence } of options.diagnosis!.candidates!) expect(confidence).toBeLessThan(0.7);
    expect(message).toMatch(/forecast of x .*outlook of y/);
  });

  test('two agents that offer one ability are not alike in that sense', async () => {
    const router = routerOf([twin('x', 'forecast'), twin('y', 'forecast'), sums], { minConfidence: 0.6 });
    expect((await router.route(open('rain and sunshine tomorrow'))).chosen.ability).toBe('forecast');
    const hits = await router.searchAbilities('rain and sunshine tomorrow');
    expect(hits.slice(0, 2).map(({ ability, confidence }) => [ability, confidence > 0.6])).toEqual([
      ['forecast', true],
      ['forecast', true],
    ]);
  });
});

describe('a pre-release, which nobody gets without naming it', () => {
  const text = 'rain and sunshine tomorrow';
  const early = agent({
    name: 'w',
    version: '2.0.0-rc.1',
    capabilities: [{ name: 'weather', description: 'an essay about clouds' }],
  });

  test('does not speak for its agent beside a release', async () => {
    const router = routerOf([weather, early, sums]);
    const [hit] = await router.searchAbilities(text);
    expect(hit).toMatchObject({ ability: 'weather', agent_version: '1.0.0' });
    expect(hit!.score).toBeGreaterThan(0.5);
    const { chosen, confidence } = await router.route(open(text));
    expect(chosen).toMatchObject({ agent_name: 'w', agent_version: '1.0.0' });
    expect(confidence).toBeGreaterThan(0.5);
  });

  test('speaks for it where there is nothing else', async () => {
    const hits = await routerOf([early, sums]).searchAbilities('clouds');
    expect(hits.map(({ agent_version }) => agent_version)).toContain('2.0.0-rc.1');
  });
});

describe('texts as they come', () => {
  test.each([
    ['full-width', 'ｒａｉｎ ａｎｄ ｓｕｎｓｈｉｎｅ ｔｏｍｏｒｒｏｗ'],
    ['upper case and nested', 'RAIN AND SUNSHINE TOMORROW'],
    ['very long', `rain and sunshine tomorrow ${'rain and sunshine tomorrow '.repeat(20_000)}`],
  ])('%s', async (_what, text) => {
    expect((await routerOf().route(open('', { payload: { a: [{ b: text }] } }))).chosen.ability).toBe('weather');
  });

  test.each<JsonObject>([{}, { n: 5 }, { text: ' \n\t' }, { text: '　' }])(
    '%j has none: 400 says what to send',
    async (payload) => {
      const { code, options } = await refusal(routerOf(), open('', { payload }));
      expect(code).toBe('invalid_request');
      expect(options.errors).toEqual([
        { pointer: '/payload', message: 'has no text', fix: 'name the ability, or send text' },
      ]);
    },
  );

  test.each(['', ' \n', '　', '\u200b\u2060', '\u0000'])('a search for %j is blank', async (query) => {
    await expect(routerOf().searchAbilities(query)).rejects.toMatchObject({ code: 'invalid_request' });
  });
});

describe('confidence', () => {
  test('of one that is alone in the running is that of the match, not 1', async () => {
    const router = routerOf([weather], { minFit: 0 });
    const text = 'who wrote about sunshine';
    const [hit] = await router.searchAbilities(text);
    expect(hit!.confidence).toBeLessThan(1);
    expect((await router.route(open(text))).confidence).toBe(hit!.confidence);
    expect((await router.explain(open(text))).confidence).toBe(hit!.confidence);
    // A named ability is no guess.
    expect((await router.route(request({ ability: 'weather', payload: { text } }))).confidence).toBe(1);
  });

  test('counts who is near but cannot take it, and is less where the agents are alike', async () => {
    const outlook = agent({
      name: 'o',
      version: '1.0.0',
      capabilities: [{ name: 'outlook', description: '明天的天气预报 rain and sunshine tomorrow' }],
    });
    const resting = { ...outlook, instances: [instance({ status: 'draining' })] };
    const text = 'rain and sunshine tomorrow';
    const beside = await routerOf([weather, resting]).route(open(text));
    expect(beside.chosen.agent_name).toBe('w');
    expect(beside.confidence).toBeLessThan((await routerOf([weather]).route(open(text))).confidence);
    const hits = await routerOf([weather, resting]).searchAbilities(text);
    expect(beside.confidence).toBe(hits.find(({ agent_name }) => agent_name === 'w')!.confidence);
    // Two agents of one ability divide nothing between them, but neither stands out.
    const twin = { ...weather, name: 'v', descriptor: { ...weather.descriptor, name: 'v' } };
    expect((await routerOf([weather, twin]).route(open(text))).confidence).toBe(0);
  });
});

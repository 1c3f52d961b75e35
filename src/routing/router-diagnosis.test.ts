import { agent, instance, request, ScriptedBreakers, WordEmbedder, world } from '../../test/routing/fixtures';
import { LexicalMatcher } from '../embeddings';
import type { DescriptorDraft } from '../protocol/descriptor';
import { ReachError } from '../protocol/reach-error';
import type { InstanceState } from '../protocol/shapes';
import type { AgentVersion } from '../protocol/world';
import { DEFAULT_ROUTER_CONFIG, Router, SemanticMatcher, type RouteRequest } from './index';

function routerOf(agents: AgentVersion[]): Router {
  const view = world({ agents });
  const matcher = new SemanticMatcher({
    embedder: new WordEmbedder(),
    fallback: new LexicalMatcher(),
    patienceMs: 60_000,
  });
  const now = () => new Date('2026-03-01T12:03:10.000Z');
  return new Router({ world: () => view, matcher, config: DEFAULT_ROUTER_CONFIG, now });
}

async function refusal(agents: AgentVersion[], overrides: Partial<RouteRequest>): Promise<ReachError> {
  const caught = await routerOf(agents)
    .route(request(overrides))
    .catch((error: unknown) => error);
  expect(caught).toBeInstanceOf(ReachError);
  return caught as ReachError;
}

const ocr = (draft: Partial<DescriptorDraft> = {}, instances?: InstanceState[]) =>
  agent({ name: 'reader', version: '1.0.0', capabilities: ['invoice-ocr'], ...draft }, instances);

describe('names', () => {
  test.each([
    ['invoice_ocr', 'separator'],
    ['Invoice-OCR', 'case'],
    ['invoice-ocr ', 'whitespace'],
    ['іnvoice-ocr', 'look-alike script'],
    ['ｉnvoice-ocr', 'width'],
    ['invoice-orc', 'spelling'],
  ])('%j is near invoice-ocr by %s (B10)', async (ability, why) => {
    const { code, options, message } = await refusal([ocr()], { ability });
    expect(code).toBe('ability_not_found');
    expect(options.diagnosis).toMatchObject({
      reason: 'name_mismatch',
      closest: [{ name: 'invoice-ocr', why: expect.stringContaining(why) }],
    });
    expect(message).toContain('did you mean invoice-ocr');
  });

  test('nothing near: it says where to look', async () => {
    const { options, message } = await refusal([ocr()], { ability: 'weather' });
    expect(options.diagnosis).toMatchObject({ reason: 'name_mismatch', closest: [] });
    expect(message).toContain('GET /v1/abilities');
  });

  test.each(['toString', '__proto__', 'constructor'])(
    'an inherited name such as %s is no ability and no agent',
    async (name) => {
      expect((await refusal([ocr()], { ability: name })).code).toBe('ability_not_found');
      expect((await refusal([ocr()], { target_agent: name })).code).toBe('agent_not_found');
    },
  );

  test('an unknown agent, with the nearest', async () => {
    const { code, options } = await refusal([ocr()], { target_agent: 'raeder' });
    expect(code).toBe('agent_not_found');
    expect(options.diagnosis).toMatchObject({
      reason: 'agent_unknown',
      closest: [{ name: 'reader', why: 'spelling' }],
    });
  });

  test('a known agent that does not offer the ability: who does', async () => {
    const other = agent({ name: 'poet', version: '1.0.0', capabilities: ['haiku'] });
    const { code, message } = await refusal([ocr(), other], { target_agent: 'reader', ability: 'haiku' });
    expect(code).toBe('ability_not_found');
    expect(message).toBe('reader does not offer "haiku", it offers invoice-ocr; poet does');
  });

  test('an empty registry', async () => {
    expect((await refusal([], { ability: '*', payload: { text: 'x' } })).message).toContain('POST /v1/agents');
  });
});

describe('versions', () => {
  test('a range that nothing satisfies, with what there is', async () => {
    const agents = [ocr(), ocr({ version: '1.10.0' }), ocr({ version: '1.9.0' })];
    const { code, options } = await refusal(agents, { ability: 'invoice-ocr', version: '^2.0.0' });
    expect(code).toBe('version_not_found');
    expect(options.diagnosis).toMatchObject({
      reason: 'version_mismatch',
      available_versions: ['1.10.0', '1.9.0', '1.0.0'],
    });
  });

  test('name#version that does not exist', async () => {
    const { code, options } = await refusal([ocr()], { target_agent: 'reader#1.0.1' });
    expect(code).toBe('version_not_found');
    expect(options.diagnosis?.available_versions).toEqual(['1.0.0']);
  });

  test.each(['v1', '1.2', '01.2.3', '1.2.3.4', '^', ''])('%j is no range', async (version) => {
    const { code, options } = await refusal([ocr()], { ability: 'invoice-ocr', version });
    expect(code).toBe('invalid_request');
    expect(options.errors).toEqual([
      expect.objectContaining({ pointer: '/version', fix: expect.stringContaining('^1.2.0') }),
    ]);
  });

  test('name#1.2 is no version either', async () => {
    const { code, options } = await refusal([ocr()], { target_agent: 'reader#1.2' });
    expect(code).toBe('invalid_request');
    expect(options.errors?.[0]?.pointer).toBe('/target_agent');
  });
});

test('message types: what is accepted instead', async () => {
  const { code, options, message } = await refusal([ocr({ accepted_message_types: ['task', 'query'] })], {
    ability: 'invoice-ocr',
    type: 'command',
  });
  expect(code).toBe('message_type_not_accepted');
  expect(options.diagnosis?.reason).toBe('message_type_not_accepted');
  expect(message).toContain('accepted: task, query');
});

describe('payload', () => {
  const input_schema = { type: 'object', required: ['pages'], properties: { pages: { type: 'integer' } } };
  const strict = ocr({ capabilities: [{ name: 'invoice-ocr', input_schema }] });
  const lenient = agent({ name: 'easy', version: '1.0.0', capabilities: ['invoice-ocr'] });

  test('refused by everybody: the findings', async () => {
    const { code, options } = await refusal([strict], { ability: 'invoice-ocr', payload: { pages: 'two' } });
    expect(code).toBe('payload_schema_mismatch');
    expect(options.errors).toEqual([expect.objectContaining({ pointer: '/pages' })]);
    expect(options.diagnosis).toMatchObject({ reason: 'payload_schema_mismatch', agents: [{ agent_name: 'reader' }] });
  });

  test('refused by some: they are excluded, with the reason', async () => {
    const decision = await routerOf([strict, lenient]).route(request({ ability: 'invoice-ocr', payload: {} }));
    expect(decision.chosen.agent_name).toBe('easy');
    expect(decision.excluded).toEqual([
      {
        agent_name: 'reader',
        agent_version: '1.0.0',
        reason: 'its input schema refuses the payload: /pages is missing',
      },
    ]);
  });

  test('a schema that cannot be evaluated excludes its own agent only', async () => {
    const broken = ocr({ capabilities: [{ name: 'invoice-ocr', input_schema: { type: 'no such type' } }] });
    const decision = await routerOf([broken, lenient]).route(request({ ability: 'invoice-ocr' }));
    expect(decision.chosen.agent_name).toBe('easy');
    expect(decision.excluded[0]?.reason).toContain('cannot be checked');
  });
});

describe('readiness', () => {
  const wanted = { ability: 'invoice-ocr' };

  test.each([
    ['busy', { in_flight: 4 }, 'busy since 12:03:01 UTC: in_flight 4 of 4', 1000],
    ['busy', { status: 'busy', status_reason: 'says so itself' }, 'busy since 12:03:01 UTC: says so itself', 1000],
    ['draining', { status: 'draining' }, 'draining since 12:03:01 UTC', 3000],
    ['expired', { status: 'expired', status_reason: 'no heartbeat' }, 'expired since 12:03:01 UTC: no heartbeat', 3000],
  ] as const)('%s, since when and why', async (status, state, detail, retryAfterMs) => {
    const { code, options } = await refusal([ocr({}, [instance(state)])], wanted);
    expect(code).toBe('no_ready_instance');
    expect(options.retryAfterMs).toBe(retryAfterMs);
    expect(options.diagnosis).toMatchObject({
      reason: 'not_ready',
      agents: [{ agent_name: 'reader', agent_version: '1.0.0', status, since: '2026-03-01T12:03:01.000Z', detail }],
    });
  });

  test('never heard of', async () => {
    const { code, options } = await refusal([ocr({}, [])], wanted);
    expect(code).toBe('no_ready_instance');
    expect(options.diagnosis).toMatchObject({
      reason: 'never_registered',
      advice: expect.stringMatching(/^start an instance that registers itself/),
      agents: [{ status: 'never_registered', since: null }],
    });
    // Nobody who was there comes back: no time is promised.
    expect([options.retryAfterMs, options.diagnosis!.retry_after_ms]).toEqual([undefined, undefined]);
    const gone = agent({ name: 'z', version: '1.0.0', capabilities: ['invoice-ocr'] }, [
      instance({ status: 'expired' }),
    ]);
    expect((await refusal([ocr({}, []), gone], wanted)).retryAfterMs).toBe(3_000);
  });

  test('probes leave none', async () => {
    const failing = instance({ status: 'unavailable', status_reason: 'GET /healthz answered 500' });
    expect((await refusal([ocr({}, [failing])], wanted)).code).toBe('all_instances_unavailable');
    const mixed = [failing, instance({ instance_id: 'i-2', status: 'busy' })];
    expect((await refusal([ocr({}, mixed)], wanted)).code).toBe('no_ready_instance');
  });

  const ejectedUntil = (ejected_until: string, instance_id = 'i-1') =>
    instance({ instance_id, status: 'unavailable', status_reason: 'ejected: 5 failures in a row', ejected_until });
  const failing = instance({ instance_id: 'sick', status: 'unavailable', health: 'failing' });

  test.each([
    [
      'when the first of them is let back in',
      [ejectedUntil('2026-03-01T12:04:10Z'), ejectedUntil('2026-03-01T12:03:30Z', 'i-2')],
      20_000,
    ],
    ['never at once', [ejectedUntil('2026-03-01T12:03:10.020Z')], 100],
    ['nor in the past', [ejectedUntil('2026-03-01T12:03:00Z')], 100],
    ['with the next heartbeat when another may recover before', [ejectedUntil('2026-03-01T12:04:10Z'), failing], 3_000],
    ['unless the ejection ends first', [ejectedUntil('2026-03-01T12:03:12Z'), failing], 2_000],
    [
      'whatever has expired beside it',
      [ejectedUntil('2026-03-01T12:03:30Z'), instance({ instance_id: 'i-2', status: 'expired' })],
      20_000,
    ],
    ['by heartbeat when the time cannot be read', [ejectedUntil('soon')], 3_000],
  ])('ejection leaves none: to be tried again %s', async (_when, instances, retryAfterMs) => {
    const { code, options } = await refusal([ocr({}, instances)], wanted);
    expect(code).toBe('all_instances_unavailable');
    expect(options.retryAfterMs).toBe(retryAfterMs);
    expect(options.diagnosis).toMatchObject({ reason: 'not_ready', agents: [{ status: 'unavailable' }] });
  });

  test('ejections do not speak for those who are not ready by status', async () => {
    const mixed = [ejectedUntil('2026-03-01T12:04:10Z'), instance({ instance_id: 'i-2', status: 'draining' })];
    const { code, options } = await refusal([ocr({}, mixed)], wanted);
    expect(code).toBe('no_ready_instance');
    expect(options.retryAfterMs).toBe(3_000);
  });

  test('one ready instance among others is enough', async () => {
    const mixed = [instance({ status: 'draining' }), instance({ instance_id: 'i-2' })];
    expect((await routerOf([ocr({}, mixed)]).route(request(wanted))).chosen.agent_name).toBe('reader');
  });

  test('everybody was tried already', async () => {
    const { code, message } = await refusal([ocr()], { ...wanted, exclude: ['reader#1.0.0'] });
    expect(code).toBe('no_ready_instance');
    expect(message).toContain('tried already: reader#1.0.0');
  });

  test('whoever came furthest is spoken of', async () => {
    const wrongType = agent({
      name: 'other',
      version: '1.0.0',
      accepted_message_types: ['query'],
      capabilities: ['invoice-ocr'],
    });
    const { code, message, options } = await refusal([wrongType, ocr({}, [])], wanted);
    expect(code).toBe('no_ready_instance');
    expect(message).toMatch(
      /^no agent is ready for invoice-ocr: reader .*; of the others 1 accepts other message types$/,
    );
    expect(options.diagnosis).toMatchObject({ reason: 'never_registered', message });
    expect(options.diagnosis?.agents?.map(({ agent_name }) => agent_name)).toEqual(['reader', 'other']);
  });

  test('async waits for an agent that is known but not ready, and prefers one that is', async () => {
    const asleep = ocr({}, []);
    const decision = await routerOf([asleep]).route(request({ ...wanted, mode: 'async' }));
    expect(decision.chosen.agent_name).toBe('reader');
    expect(decision.route_reason).toMatch(
      /; not ready now \(no instance has ever registered\), so it waits until it is$/,
    );
    expect(routerOf([asleep]).stillGood(decision, request({ ...wanted, mode: 'async' }))).toBe(false);

    const awake = agent({ name: 'zz_awake', version: '1.0.0', capabilities: ['invoice-ocr'] });
    const both = await routerOf([asleep, awake]).route(request({ ...wanted, mode: 'async' }));
    expect(both.chosen.agent_name).toBe('zz_awake');
    expect((await refusal([asleep], { ability: 'invoice_ocr', mode: 'async' })).code).toBe('ability_not_found');
  });
});

describe('mixed causes', () => {
  const named = (name: string, draft: Partial<DescriptorDraft>, instances?: InstanceState[]) =>
    agent({ name, version: '1.0.0', capabilities: ['invoice-ocr'], ...draft }, instances);
  const everybody = [
    named('a_typed', { accepted_message_types: ['query'] }),
    named('b_old', { version: '0.9.0' }),
    named('c_gone', {}, [instance({ status: 'expired', status_reason: 'its lease expired' })]),
    named('d_ejected', {}, [instance({ status: 'unavailable', ejected_until: '2026-03-01T12:03:40.000Z' })]),
    named('e_busy', {}, [instance({ in_flight: 4 })]),
    named('f_busy', {}, [instance({ status: 'busy', status_reason: 'reported busy' })]),
    named('g_never', {}, []),
    named('h_draining', {}, [instance({ status: 'draining' })]),
    named('i_sick', {}, [instance({ status: 'unavailable', health: 'failing' })]),
  ];

  test('are counted, the one nearest to success first, and each agent has its own', async () => {
    const { message, options } = await refusal(everybody, { ability: 'invoice-ocr', version: '^1.0.0' });
    const { causes, agents, advice } = options.diagnosis!;
    expect(causes!.map(({ cause, count, message: told }) => [cause, count, told])).toEqual([
      ['busy', 2, '2 are busy'],
      ['ejected', 1, '1 is ejected for failing in a row'],
      ['draining', 1, '1 is draining'],
      ['unavailable', 1, '1 fails its health check'],
      ['expired', 1, '1 is gone'],
      ['never_registered', 1, '1 has no instance and never had one'],
      ['version_mismatch', 1, '1 is of another version'],
      ['message_type_not_accepted', 1, '1 accepts other message types'],
    ]);
    expect(agents!.map(({ agent_name, cause, by, retry_after_ms }) => [agent_name, cause, by, retry_after_ms])).toEqual(
      [
        ['e_busy', 'busy', 'its calls in flight', undefined],
        ['f_busy', 'busy', 'the agent', undefined],
        ['d_ejected', 'ejected', 'its failed calls', 30_000],
        ['h_draining', 'draining', 'the agent', undefined],
        ['i_sick', 'unavailable', 'its health check', undefined],
        ['c_gone', 'expired', 'its lease', undefined],
        ['g_never', 'never_registered', undefined, undefined],
        ['b_old', 'version_mismatch', undefined, undefined],
        ['a_typed', 'message_type_not_accepted', undefined, undefined],
      ],
    );
    expect(advice).toContain('mode async');
    expect(message).toMatch(/; of the others 1 is of another version, 1 accepts other message types$/);
  });

  test('agents are ten at most, counts are of all', async () => {
    const many = Array.from({ length: 30 }, (_, n) => named(`n_${n}`, {}, []));
    const { options } = await refusal(many, { ability: 'invoice-ocr' });
    expect(options.diagnosis?.agents).toHaveLength(10);
    expect(options.diagnosis?.causes).toEqual([{ cause: 'never_registered', count: 30, message: expect.any(String) }]);
  });

  test('a breaker that an operator holds open tells who and since when', async () => {
    const gates = {
      'reader#1.0.0/invoice-ocr': {
        share: 0,
        detail: 'held open by ops',
        retryAfterMs: 5_000,
        state: 'open',
        since: '2026-03-01T11:00:00.000Z',
        by: 'ops',
      },
    } as const;
    const view = world({ agents: [ocr()], breakers: new ScriptedBreakers(gates) });
    const router = new Router({ world: () => view, matcher: new LexicalMatcher(), config: DEFAULT_ROUTER_CONFIG });
    const { diagnosis } = await router.explain(request({ ability: 'invoice-ocr' }));
    expect(diagnosis).toMatchObject({
      retry_after_ms: 5_000,
      agents: [{ status: 'open', since: '2026-03-01T11:00:00.000Z', by: 'ops', detail: 'held open by ops' }],
    });
  });

  test.each([
    [null, undefined],
    ['2026-03-01T12:40:00.000Z', 1_800_000],
  ])('a breaker that is held until %s is tried when that ends, and no probe is promised', async (heldUntil, waitMs) => {
    const held = { share: 0, detail: 'held', retryAfterMs: 30_000, state: 'open', by: 'ops', heldUntil } as const;
    const breakers = new ScriptedBreakers({ 'reader#1.0.0/invoice-ocr': held });
    const view = world({ agents: [ocr()], breakers });
    const now = () => new Date('2026-03-01T12:10:00.000Z');
    const router = new Router({ world: () => view, matcher: new LexicalMatcher(), config: DEFAULT_ROUTER_CONFIG, now });
    const { diagnosis } = await router.explain(request({ ability: 'invoice-ocr' }));
    expect(diagnosis?.advice).toContain('agent-reach breakers auto');
    expect(diagnosis?.agents?.[0]?.retry_after_ms).toBe(waitMs);
  });
});

describe('what to do', () => {
  const versions = ['2.0.0-rc.1', '1.10.0'].map((version) => ocr({ version }));

  test.each([
    ['a pre-release in the range is named', { version: '>=2.0.0-0 <1.0.0 || >=1.11.0' }, 'ask for 2.0.0-rc.1'],
    ['no such major', { version: '^3.0.0' }, 'ask for a version that is there, such as 1.10.0'],
    ['a type nobody takes', { type: 'command' }, 'send it as "task"'],
    ['nothing like the name', { ability: 'weather' }, 'POST /v1/abilities:search'],
    ['a misspelt name', { ability: 'invoice-orc' }, 'use one of the nearest names'],
  ])('%s', async (_what, asked, advice) => {
    const { options } = await refusal(versions, { ability: 'invoice-ocr', ...asked });
    expect(options.diagnosis?.advice).toContain(advice);
  });

  test('every diagnosis has advice, and one that may pass by itself says when', async () => {
    const refusals = await Promise.all([
      refusal([], { ability: '*', payload: { text: 'x' } }),
      refusal([ocr()], { target_agent: 'raeder' }),
      refusal([ocr()], { target_agent: 'reader#9.0.0' }),
      refusal([ocr()], { target_agent: 'reader', ability: 'haiku' }),
      refusal([ocr({}, [])], { ability: 'invoice-ocr' }),
      refusal([ocr()], { ability: 'invoice-ocr', exclude: ['reader#1.0.0'] }),
      refusal([ocr()], { ability: 'invoice-ocr', chain: ['reader/invoice-ocr'] }),
    ]);
    for (const { code, message, options } of refusals) {
      expect(options.diagnosis).toMatchObject({ message, advice: expect.stringMatching(/\S/) });
      expect(options.diagnosis?.retry_after_ms).toBe(options.retryAfterMs);
      const passes = code === 'no_ready_instance' && options.diagnosis?.reason !== 'never_registered';
      if (passes) expect(options.retryAfterMs).toBeGreaterThan(0);
    }
  });

  test('who offers it instead stands among the agents', async () => {
    const poet = agent({ name: 'poet', version: '1.0.0', capabilities: ['haiku'] }, [instance({ status: 'busy' })]);
    const { options } = await refusal([ocr(), poet], { target_agent: 'reader', ability: 'haiku' });
    expect(options.diagnosis).toMatchObject({
      advice: 'leave the agent out, or ask poet',
      agents: [{ agent_name: 'poet', status: 'busy', cause: 'not_asked' }],
    });
  });
});

describe('ability *', () => {
  const agents = [
    agent({
      name: 'w',
      version: '1.0.0',
      capabilities: [{ name: 'weather', description: 'rain and sunshine tomorrow' }],
    }),
    agent({ name: 's', version: '1.0.0', capabilities: [{ name: 'sums', description: 'adds numbers' }] }),
  ];

  test('finds the ability that fits', async () => {
    const decision = await routerOf(agents).route(request({ ability: '*', payload: { text: 'rain tomorrow' } }));
    expect(decision).toMatchObject({ ability: '*', chosen: { agent_name: 'w', ability: 'weather' } });
  });

  test('is off topic when none does, also when there is just one', async () => {
    for (const known of [agents, agents.slice(0, 1)]) {
      const { code, options } = await refusal(known, { ability: '*', payload: { text: 'who wrote Hamlet' } });
      expect(code).toBe('ability_not_found');
      expect(options.diagnosis).toMatchObject({
        reason: 'off_topic',
        closest: expect.arrayContaining([{ name: 'weather', why: expect.stringContaining('fits with 0.') }]),
      });
    }
  });

  test('leaves out what cannot take it, and says why nobody can', async () => {
    const busy = agent(agents[0]!.descriptor, [instance({ status: 'busy' })]);
    const { code } = await refusal([busy], { ability: '*', payload: { text: 'rain tomorrow' } });
    expect(code).toBe('no_ready_instance');
  });

  test('needs text', async () => {
    const { code, options } = await refusal(agents, { ability: '*', payload: { n: 1 } });
    expect(code).toBe('invalid_request');
    expect(options.errors?.[0]?.pointer).toBe('/payload');
  });

  test('an agent named without an ability: the nearest of its abilities', async () => {
    const both = agent({
      name: 'both',
      version: '1.0.0',
      capabilities: [
        { name: 'weather', description: 'rain and sunshine tomorrow' },
        { name: 'sums', description: 'adds numbers' },
      ],
    });
    const decision = await routerOf([both, ...agents]).route(
      request({ target_agent: 'both', payload: { text: 'numbers' } }),
    );
    expect(decision).toMatchObject({ strategy: 'direct', chosen: { agent_name: 'both', ability: 'sums' } });
  });
});

describe('explain', () => {
  test('that nobody fits is an answer, with everything that is known', async () => {
    const explained = await routerOf([ocr({}, [instance({ in_flight: 4 })])]).explain(
      request({ ability: 'invoice-ocr' }),
    );
    expect(explained).toMatchObject({
      agent_name: null,
      agent_version: null,
      strategy: null,
      code: 'no_ready_instance',
      candidates: [],
      excluded: [{ agent_name: 'reader', agent_version: '1.0.0', reason: 'busy since 12:03:01 UTC: in_flight 4 of 4' }],
      excluded_count: 1,
      diagnosis: { reason: 'not_ready' },
    });
  });

  test('a decision laid flat', async () => {
    const explained = await routerOf([ocr()]).explain(request({ ability: 'invoice-ocr' }));
    expect(explained).toMatchObject({
      agent_name: 'reader',
      agent_version: '1.0.0',
      ability: 'invoice-ocr',
      strategy: 'score_based',
      explored: false,
    });
    expect(explained.candidates[0]?.instances).toEqual([{ instance_id: 'i-1', weight: expect.any(Number) }]);
    expect(explained).not.toHaveProperty('code');
  });

  test('what cannot be understood is still an error', async () => {
    await expect(routerOf([ocr()]).explain(request({ ability: 'invoice-ocr', version: '' }))).rejects.toMatchObject({
      code: 'invalid_request',
    });
  });
});

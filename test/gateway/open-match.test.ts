/** Open matches, the search and exploration as callers meet them (R16, R17, E02). By wording: no embeddings run here. */
import { startGateway, type TestGateway } from '../support/gateway';
import { expectProblem } from '../support/problem';
import { startHttpAgent, type ScriptedHttpAgent } from '../support/scripted-http-agent';

let gateway: TestGateway;
const agents: ScriptedHttpAgent[] = [];

const REFUND = {
  name: 'refund_order',
  description: '退款：把货款退还给顾客，查询退款进度',
  examples: ['我的退款什么时候到账', '我要申请退款', 'where is my refund', 'I want my money back'],
};
const REPAIR = {
  name: 'repair_booking',
  description: '预约上门维修家电',
  examples: ['洗衣机坏了，想约师傅上门修', 'my washing machine is broken, book a repair'],
};

beforeAll(async () => {
  gateway = await startGateway({ config: { router: { exploration: { rate: 0.5 } } } });
  for (const [name, capability] of [
    ['refunds_a', REFUND],
    ['refunds_b', REFUND],
    ['repairs', REPAIR],
  ] as const)
    agents.push(await startHttpAgent(gateway.api, { name, capability }));
});
afterAll(async () => {
  for (const agent of agents) await agent.close();
  await gateway?.close();
});

const open = (text: string, more: object = {}) => ({ ability: '*', payload: { user_message: text }, ...more });

describe('* finds whoever can do it', () => {
  it.each([
    ['Chinese', '我的退款什么时候到账'],
    ['English', 'where is my refund'],
    ['full-width', 'ｗｈｅｒｅ ｉｓ ｍｙ ｒｅｆｕｎｄ'],
    ['both languages', '你好 hello, 我要申请退款, I want my money back'],
  ])('%s', async (_what, text) => {
    const { status, body } = await gateway.api.reach(open(text));
    expect(status).toBe(200);
    expect(body).toMatchObject({ ability: 'refund_order', agent_name: expect.stringMatching(/^refunds_/) });
    expect(body.route_reason).not.toBe('');
  });

  it('also for a payload that is too large to be written into a history', async () => {
    const { status, body } = await gateway.api.reach(
      open('我要申请退款', { payload: { user_message: '我要申请退款', scan: 'x'.repeat(400_000) } }),
    );
    expect([status, body.ability]).toEqual([200, 'refund_order']);
  });

  it('and says what is nearest when nobody can: 404, in a dry run and in a search alike', async () => {
    const text = 'who wrote Hamlet';
    const refused = await gateway.api.reach(open(text));
    const problem = expectProblem(refused, 'ability_not_found');
    expect(problem.diagnosis).toMatchObject({ reason: 'off_topic', advice: expect.any(String) });
    const { candidates = [] } = problem.diagnosis!;
    expect(candidates.length).toBeGreaterThan(0);
    for (const { score } of candidates) expect(score).toBeLessThan(0.5);
    const dry = await gateway.api.post('/v1/route', open(text));
    expect(dry.body).toMatchObject({ agent_name: null, code: 'ability_not_found', diagnosis: { candidates } });
    const found = await gateway.api.post('/v1/abilities:search', { query: text });
    expect(found.body.results).toEqual(candidates);
  });

  it('needs text', async () => {
    const refused = await gateway.api.reach({ ability: '*', payload: { amount: 5 } });
    expectProblem(refused, 'invalid_request');
    expect(refused.body.errors).toMatchObject([{ pointer: '/payload', fix: expect.any(String) }]);
  });
});

describe('POST /v1/abilities:search', () => {
  const search = (body: object) => gateway.api.post('/v1/abilities:search', body);

  it('answers best first, with score and confidence, as many as asked for', async () => {
    const { status, body } = await search({ query: '我的退款什么时候到账' });
    expect(status).toBe(200);
    expect(body.results[0]).toEqual({
      ability: 'refund_order',
      agent_name: 'refunds_a',
      agent_version: '1.0.0',
      score: expect.any(Number),
      confidence: expect.any(Number),
    });
    expect(body.results[0].score).toBeGreaterThan(0.5);
    expect((await search({ query: '我的退款什么时候到账', limit: 1 })).body.results).toHaveLength(1);
  });

  it.each([
    [{ query: '' }, 400],
    [{ query: ' 　\n' }, 400],
    [{ query: '\u200b' }, 400],
    [{ query: 5 }, 400],
    [{}, 400],
    [{ query: 'x', limit: 0 }, 400],
    [{ query: 'x', limit: 101 }, 400],
    [{ query: 'x', limit: 1.5 }, 400],
    [{ query: 'x', top: 1 }, 400],
    [{ query: '退'.repeat(5_462) }, 413],
    [{ query: 'x'.repeat(16_385) }, 413],
    [{ query: 'x'.repeat(16_384) }, 200],
  ])('%#: refuses what is blank, too long or out of bounds', async (body, status) => {
    expect((await search(body)).status).toBe(status);
  });
});

describe('exploration', () => {
  it('tries equals as well, says so, and is counted', async () => {
    const names = new Set<string>();
    const reasons: string[] = [];
    for (let i = 0; i < 40 && !(names.size === 2 && reasons.some((reason) => reason.includes('exploration'))); i++) {
      const { body } = await gateway.api.reach({ ability: 'refund_order', payload: { n: i } });
      names.add(body.agent_name);
      reasons.push(body.route_reason);
    }
    expect([...names].sort()).toEqual(['refunds_a', 'refunds_b']);
    expect(reasons.find((reason) => reason.includes('exploration'))).toMatch(/^refunds_\w is tried for refund_order/);
    const { text } = await gateway.api.get('/metrics');
    expect(text).toMatch(/agent_reach_explorations_total\{tried="true"\} [1-9]/);
  });

  it('never in a dry run, which has every part of the score', async () => {
    for (let i = 0; i < 5; i++) {
      const { body } = await gateway.api.post('/v1/route', { ability: 'refund_order', payload: { n: i } });
      expect(body).toMatchObject({ explored: false, candidates: [{ agent_name: body.agent_name }, {}] });
      for (const { score, factors } of body.candidates) {
        const parts = Object.entries(factors as Record<string, number>);
        expect(score).toBeCloseTo(
          parts.reduce((sum, [name, part]) => sum + body.weights[name] * part, 0),
          5,
        );
      }
    }
  });
});

/** What holds for agents over HTTP beyond the common contract: its status codes and its broken connections. */
import { randomUUID } from 'node:crypto';
import type { ErrorCode } from '../../src/protocol/error-codes';
import type { Api } from '../support/api';
import { expectProblem } from '../support/problem';
import { startHttpAgent, type HttpStep, type ScriptedHttpAgent } from '../support/scripted-http-agent';
import { waitFor } from '../support/wait-for';
import { describeLateResults } from './http-late-results';

const body = (text: string, status = 200): HttpStep => ({
  do: 'status',
  status,
  headers: { 'content-type': 'application/json' },
  body: text,
});

/** What the agent does → the code it ends with, and whether another attempt is made (T01; Decisions, "Classes"). */
const ROWS: [what: string, step: HttpStep, code: ErrorCode, again: boolean][] = [
  ...[400, 401, 403, 404, 409, 422, 501].map((status): (typeof ROWS)[number] => [
    `${status}`,
    body('{}', status),
    'agent_rejected',
    false,
  ]),
  ['408', body('{}', 408), 'agent_timeout', true],
  ['429', body('{}', 429), 'agent_busy', true],
  ['500', body('{"error":"db down"}', 500), 'agent_error', true],
  ['503', body('<html>', 503), 'agent_error', true],
  ['redirect', { do: 'status', status: 307, headers: { location: '/elsewhere' } }, 'agent_protocol_error', false],
  ['204', { do: 'status', status: 204 }, 'agent_protocol_error', false],
  ['malformed JSON', body('{"answer": '), 'agent_protocol_error', false],
  ['an empty body', body(''), 'agent_protocol_error', false],
  ['an array', body('[1]'), 'agent_protocol_error', false],
  ['a key twice', body('{"answer":"a","answer":"b"}'), 'agent_protocol_error', false],
  ['an inexact number', body('{"answer":"a","n":9007199254740993}'), 'agent_protocol_error', false],
  ['a reserved key', body('{"answer":"a","__proto__":{}}'), 'agent_protocol_error', false],
  ['100,000 levels', body('['.repeat(100_000) + ']'.repeat(100_000)), 'response_schema_mismatch', false],
  [
    '65 levels in an object',
    body(`{"answer":"a","d":${'['.repeat(64)}${']'.repeat(64)}}`),
    'response_schema_mismatch',
    false,
  ],
  ['2 MiB', body(JSON.stringify({ answer: 'x'.repeat(2_097_152) })), 'agent_response_too_large', false],
  [
    'numbers that grow past 1 MiB',
    body(`{"answer":"a","n":[${'1e20,'.repeat(100_000)}1]}`),
    'agent_response_too_large',
    false,
  ],
  ['202 without accepted', body('{"queued":true}', 202), 'agent_protocol_error', false],
  ['a reset before the headers', { do: 'reset', when: 'before_headers' }, 'agent_unavailable', true],
  ['a reset in the middle of the body', { do: 'reset', when: 'mid_body' }, 'agent_unavailable', true],
];

/** The suite; `api` is read when the tests run. */
export function describeHttpRules(api: () => Api): void {
  describe('agents over HTTP', () => {
    const started: ScriptedHttpAgent[] = [];
    const start = async (...[draft]: [Parameters<typeof startHttpAgent>[1]]) => {
      const agent = await startHttpAgent(api(), draft);
      started.push(agent);
      return agent;
    };
    let agent: ScriptedHttpAgent;
    beforeAll(async () => {
      agent = await start({ name: 'http_rules', endpoint: { max_retry: 4, timeout_ms: 20_000 } });
    });
    afterAll(async () => {
      await Promise.all(started.map((one) => one.close()));
    });
    beforeEach(() => agent.plays());
    const reach = (more: object = {}, headers: Record<string, string> = {}) =>
      api().reach({ ability: agent.ability, ...more }, headers);

    it.each([
      ['says nothing about repeats', undefined, true],
      ['is idempotent: the fast path', true, true],
      ['must not be asked twice', false, false],
    ])('classifies what comes back, for an ability that %s', async (_what, idempotent, repeats) => {
      const one = await start({
        name: `classes_${idempotent}`,
        capability: { idempotent },
        endpoint: { max_retry: 1, timeout_ms: 4_000 },
      });
      for (const [what, step] of ROWS) one.playsFor(what, step);
      const outcome = async ([what]: (typeof ROWS)[number]) => {
        const answer = await api().reach({ ability: one.ability, payload: { case: what }, timeout_ms: 20_000 });
        const { attempts = [], retryable } = answer.body;
        return [
          what,
          answer.body.code,
          one.journalOf(what).length,
          attempts.length,
          retryable,
          answer.headers['content-type']?.split(';')[0],
        ];
      };
      const outcomes: unknown[] = [];
      // A few at a time: a starved worker may run a local activity again, which an idempotent ability allows.
      for (let at = 0; at < ROWS.length; at += 6)
        outcomes.push(...(await Promise.all(ROWS.slice(at, at + 6).map(outcome))));
      const expected = ROWS.map(([what, , code, again]) => [
        what,
        code,
        again && repeats ? 2 : 1,
        again && repeats ? 2 : 1,
        // Without an answer the work may have been done: what must not be asked twice is not called retryable either.
        again && (repeats || !['agent_timeout', 'agent_unavailable'].includes(code)),
        'application/problem+json',
      ]);
      expect(outcomes).toEqual(expected);
    });

    it('sends again, whatever the ability declares, when nobody can have received it', async () => {
      const absent = await start({
        name: 'http_refusing',
        absent: true,
        capability: { idempotent: false },
        endpoint: { max_retry: 2 },
      });
      const problem = expectProblem(await api().reach({ ability: absent.ability }), 'agent_unavailable');
      expect(problem.attempts?.map(({ received }) => received)).toEqual(['no', 'no', 'no']);
    });

    it('does not take a server that speaks no TLS for one that is away', async () => {
      const name = `http_no_tls_${randomUUID().slice(0, 8)}`;
      const descriptor = {
        name,
        version: '1.0.0',
        capabilities: [`${name}.work`],
        endpoint: { protocol: 'http', address: agent.url.replace('http:', 'https:') },
      };
      expect((await api().post('/v1/agents', descriptor)).status).toBe(201);
      const problem = expectProblem(await api().reach({ ability: `${name}.work` }), 'agent_protocol_error');
      expect(problem.attempts).toHaveLength(1);
    });

    it.each<[string, string, number, number]>([
      ['seconds', '1', 950, 5_000],
      ['a negative number', '-5', 0, 5_000],
      ['more than a week', '99999999', 0, 5_000],
      ['words', 'soon', 0, 5_000],
      ['an exponent', '1e3', 0, 5_000],
      ['a date in the past', 'Wed, 21 Oct 2015 07:28:00 GMT', 0, 5_000],
    ])('reads Retry-After as %s', async (_what, value, leastMs, mostMs) => {
      agent.plays(
        { do: 'status', status: 503, headers: { 'retry-after': value } },
        { do: 'answer', output: { answer: 'now' } },
      );
      expect((await reach()).body).toMatchObject({ status: 'completed', attempts: 2 });
      const waited = (agent.journal[1]?.atMs ?? 0) - (agent.journal[0]?.atMs ?? 0);
      expect(waited).toBeGreaterThanOrEqual(leastMs);
      expect(waited).toBeLessThan(mostMs);
    });

    it('reads Retry-After as a date', async () => {
      const soon = new Date(Math.ceil(Date.now() / 1_000) * 1_000 + 1_000);
      agent.plays(
        { do: 'status', status: 503, headers: { 'retry-after': soon.toUTCString() } },
        { do: 'answer', output: { answer: 'now' } },
      );
      expect((await reach()).body).toMatchObject({ status: 'completed', attempts: 2 });
      expect(Date.now()).toBeGreaterThanOrEqual(soon.getTime());
    });

    it('says what kept failing when the time is over, and does not wait for nothing', async () => {
      agent.plays({ do: 'status', status: 503, headers: { 'retry-after': '4' }, body: '{"error":"db down"}' });
      const answer = await reach({ timeout_ms: 7_900 });
      const problem = expectProblem(answer, 'deadline_exceeded');
      expect(problem.last_error).toEqual({ code: 'agent_error', message: expect.stringContaining('db down') });
      expect(problem.attempts).toHaveLength(agent.journal.length);
      expect(agent.journal).toHaveLength(2);
      expect(answer.ms).toBeLessThan(7_800);
      expect((await api().ended(String(problem.reach_id))).body).toMatchObject({
        status: 'expired',
        error: { last_error: { code: 'agent_error' } },
      });
    });

    it('fails at once when the next attempt would come after the deadline', async () => {
      agent.plays({ do: 'status', status: 503, headers: { 'retry-after': '60' }, body: 'db down' });
      const answer = await reach({ timeout_ms: 10_000 });
      expect(expectProblem(answer, 'deadline_exceeded')).toMatchObject({
        last_error: { code: 'agent_error' },
        attempts: [{ n: 1 }],
      });
      expect(answer.ms).toBeLessThan(9_000);
    });

    it('bounds the whole answer, not the pause between two bytes', async () => {
      agent.plays({ do: 'drip', everyMs: 50 });
      const answer = await reach({ timeout_ms: 5_000, max_total_retries: 0 });
      expectProblem(answer, 'agent_timeout');
      expect(answer.ms).toBeLessThan(10_000);
      await waitFor('the connection being dropped', () => agent.journal[0]?.stopped.aborted);
    });

    it('tells the agent what the envelope says in headers too', async () => {
      const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
      const idempotency_key = `订单 ${randomUUID()}`;
      const { body: result } = await reach({ idempotency_key }, { traceparent });
      expect(result.trace_id).toBe('0af7651916cd43dd8448eb211c80319c');
      expect(agent.journal[0]?.headers).toMatchObject({
        'content-type': 'application/json',
        'x-reach-id': result.reach_id,
        'idempotency-key': encodeURIComponent(idempotency_key),
        'x-reach-deadline-ms': String(agent.journal[0]?.call.deadline_ms),
        traceparent: expect.stringMatching(/^00-0af7651916cd43dd8448eb211c80319c-(?!b7ad6b7169203331)[0-9a-f]{16}-01$/),
      });
      expect(agent.journal[0]?.headers.authorization).toBeUndefined();
      expect(agent.journal[0]?.call.idempotency_key).toBe(idempotency_key);
    });

    it('keeps connections open between requests', async () => {
      const before = agent.connections;
      for (let round = 0; round < 5; round += 1) await Promise.all(Array.from({ length: 6 }, () => reach()));
      expect(agent.journal).toHaveLength(30);
      expect(agent.connections - before).toBeLessThanOrEqual(6);
    });

    it('sends the token that the descriptor names, and nothing when it is not there', async () => {
      process.env.CONTRACT_AGENT_TOKEN = 'tok-1';
      const auth = (token_env: string) => ({ auth: { type: 'static_token' as const, token_env } });
      const known = await start({ name: 'http_auth', descriptor: auth('CONTRACT_AGENT_TOKEN') });
      expect((await api().reach({ ability: known.ability })).status).toBe(200);
      expect(known.journal[0]?.headers.authorization).toBe('Bearer tok-1');

      const unset = await start({ name: 'http_unset', descriptor: auth('CONTRACT_AGENT_UNSET') });
      const answer = await api().reach({ ability: unset.ability });
      expect(expectProblem(answer, 'agent_auth_unconfigured')).toMatchObject({
        retryable: false,
        attempts: [{ received: 'no' }],
      });
      expect(unset.journal).toHaveLength(0);
      expect(answer.text).not.toContain('tok-1');

      const other = { name: 'http_greedy', version: '1.0.0', capabilities: ['http_greedy.work'], ...auth('PATH') };
      expectProblem(await api().post('/v1/agents', other), 'token_env_forbidden');
    });

    describeLateResults({ api, agent: () => agent, start, reach });
  });
}

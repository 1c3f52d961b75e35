/**
 * What every adapter owes the platform, told through the public surface: the same script of an agent leads to the same
 * codes, attempts and limits, whatever protocol the agent speaks (R37). Each protocol's test file runs this suite.
 */
import { randomUUID } from 'node:crypto';
import type { JsonObject } from '../../src/protocol/shapes';
import type { Api } from '../support/api';
import { expectProblem } from '../support/problem';
import type { AgentDraft, ScriptedAgent, Step } from '../support/scripted-agent';
import { waitFor } from '../support/wait-for';

/** Starts a scripted agent of one protocol and registers it. */
export type StartAgent = (api: Api, draft: AgentDraft) => Promise<ScriptedAgent<Step>>;

const MIB = 1_048_576;
const OUTPUT: JsonObject = { type: 'object', required: ['answer'], properties: { answer: { type: 'string' } } };

/** The suite. `api` is read when the tests run, after the caller's `beforeAll`. */
export function describeAdapter(protocol: string, api: () => Api, startAgent: StartAgent): void {
  describe(`${protocol} adapter`, () => {
    const started: ScriptedAgent[] = [];
    const retrying = new Map<number, ScriptedAgent>();
    let agent: ScriptedAgent;

    const start = async (draft: AgentDraft) => {
      const one = await startAgent(api(), { ...draft, name: `${protocol}_${draft.name}` });
      started.push(one);
      return one;
    };
    beforeAll(async () => {
      for (const max_retry of [0, 1, 4]) {
        const draft = {
          name: `retry_${max_retry}`,
          endpoint: { max_retry, timeout_ms: 20_000 },
          capability: { output_schema: OUTPUT },
        };
        retrying.set(max_retry, await start(draft));
      }
      agent = retrying.get(1) as ScriptedAgent;
    });
    beforeEach(() => agent.plays());
    afterAll(async () => {
      await Promise.all(started.map((one) => one.close()));
    });

    const reach = (more: object = {}) => api().reach({ ability: agent.ability, ...more });

    it('hands the envelope to the agent and its answer to the caller', async () => {
      // A key of its own each time: what is run once more must not be a repeat.
      const idempotency_key = `${protocol}-${randomUUID()}`;
      agent.plays({ do: 'answer', output: { answer: 'done', confidence: 0.5 } });
      const answer = await reach({
        payload: { n: 1 },
        idempotency_key,
        source_agent: 'tester',
        context_id: 'c-1',
        group: 'blue',
      });
      expect(answer.status).toBe(200);
      expect(answer.body).toMatchObject({
        status: 'completed',
        output: { answer: 'done', confidence: 0.5 },
        answer: 'done',
        attempts: 1,
        agent_name: agent.name,
        instance: agent.instanceId,
        replayed: false,
      });
      expect(agent.journal.map(({ call }) => call)).toEqual([
        expect.objectContaining({
          reach_id: answer.body.reach_id,
          message_id: answer.body.message_id,
          ability: agent.ability,
          type: 'task',
          payload: { n: 1 },
          context_id: 'c-1',
          idempotency_key,
          delivery_semantics: 'at_least_once',
          source_agent: 'tester',
          group: 'blue',
          version: '1.0.0',
          attempt: 1,
          bypass: false,
        }),
      ]);
      expect(agent.journal[0]?.headers.traceparent).toMatch(new RegExp(`^00-${answer.body.trace_id}-[0-9a-f]{16}-01$`));
    });

    it('carries text of any script, and odd keys and numbers, unchanged both ways', async () => {
      const payload = {
        问题: '发票🧾怎么开？',
        'e\u0301': 'é',
        ' ': '\u2028\u0000\t',
        deep: [[{ a: [null, true, -0.1, 1e21, 123456789012345] }]],
        '': '',
      };
      agent.plays({ do: 'answer', output: { answer: 'ok', echoed: payload } });
      const answer = await reach({ payload });
      expect(answer.status).toBe(200);
      expect(agent.journal[0]?.call.payload).toEqual(payload);
      expect(answer.body.output.echoed).toEqual(payload);
    });

    it.each<[string, Step, 'response_schema_mismatch' | 'agent_rejected']>([
      ['an answer that breaks the output schema', { do: 'answer', output: { answer: 7 } }, 'response_schema_mismatch'],
      ['a refusal', { do: 'reject', message: 'no such order' }, 'agent_rejected'],
    ])('dead-letters %s after one attempt', async (_what, step, code) => {
      agent.plays(step);
      const problem = expectProblem(await reach(), code);
      expect(agent.journal).toHaveLength(1);
      expect(problem).toMatchObject({
        retryable: false,
        attempts: [{ n: 1, code, received: 'yes', instance: agent.instanceId }],
        agent_name: agent.name,
      });
      expect((await api().ended(String(problem.reach_id))).body).toMatchObject({
        status: 'dead_lettered',
        error: { code },
      });
    });

    it.each([0, 1, 4])('makes exactly 1 + %i attempts with one key', async (retries) => {
      const one = retrying.get(retries) as ScriptedAgent;
      one.plays({ do: 'fail', message: 'db down' });
      const problem = expectProblem(await api().reach({ ability: one.ability, timeout_ms: 20_000 }), 'agent_error');
      const numbers = Array.from({ length: retries + 1 }, (_, index) => index + 1);
      expect(one.journal.map(({ call }) => call.attempt)).toEqual(numbers);
      expect(problem.attempts?.map(({ n }) => n)).toEqual(numbers);
      expect(new Set(one.journal.map(({ call }) => call.idempotency_key)).size).toBe(1);
      expect(problem.detail).toContain('db down');
      expect(problem.retryable).toBe(true);
    });

    it('counts the attempts of a reach that succeeds in the end, and tells each its own, smaller deadline', async () => {
      const one = retrying.get(4) as ScriptedAgent;
      one.plays(
        { do: 'fail', message: 'no', afterMs: 150 },
        { do: 'fail', message: 'no', afterMs: 150 },
        { do: 'answer', output: { answer: 'yes' } },
      );
      const answer = await api().reach({ ability: one.ability, timeout_ms: 6_000 });
      expect(answer.body).toMatchObject({ status: 'completed', attempts: 3 });
      const deadlines = one.journal.map(({ call }) => call.deadline_ms);
      const startedMs = one.journal[0]?.atMs ?? 0;
      // The way to the agent takes time too, a different one each time.
      for (const { call, atMs } of one.journal)
        expect(call.deadline_ms).toBeLessThanOrEqual((6_000 - (atMs - startedMs)) / 2 + 1_000);
      expect(deadlines).toEqual([...new Set(deadlines)].toSorted((a, b) => b - a));
    });

    it('sends at_most_once once, whatever comes of it', async () => {
      const one = retrying.get(4) as ScriptedAgent;
      one.plays({ do: 'fail', message: 'no' });
      const problem = expectProblem(
        await api().reach({ ability: one.ability, delivery_semantics: 'at_most_once' }),
        'agent_error',
      );
      expect([one.journal.length, problem.attempts?.length]).toEqual([1, 1]);
    });

    it('keeps to max_total_retries where that is less', async () => {
      const one = retrying.get(4) as ScriptedAgent;
      one.plays({ do: 'fail', message: 'no' });
      expectProblem(await api().reach({ ability: one.ability, max_total_retries: 2 }), 'agent_error');
      expect(one.journal).toHaveLength(3);
    });

    it('asks a busy agent again, no sooner than it said', async () => {
      agent.plays({ do: 'busy', retryAfterMs: 1_000 }, { do: 'answer', output: { answer: 'now' } });
      const answer = await reach({ timeout_ms: 20_000 });
      expect(answer.body).toMatchObject({ status: 'completed', attempts: 2 });
      expect((agent.journal[1]?.atMs ?? 0) - (agent.journal[0]?.atMs ?? 0)).toBeGreaterThanOrEqual(950);
    });

    it('gives a busy agent up as agent_busy', async () => {
      agent.plays({ do: 'busy' });
      const problem = expectProblem(await reach(), 'agent_busy');
      expect(problem).toMatchObject({ retryable: true, attempts: [{ code: 'agent_busy' }, { code: 'agent_busy' }] });
    });

    it('lets one attempt use half of what is left, and says that a late agent may have had the request', async () => {
      const one = retrying.get(0) as ScriptedAgent;
      one.plays({ do: 'hang' });
      const answer = await api().reach({ ability: one.ability, timeout_ms: 6_000 });
      const problem = expectProblem(answer, 'agent_timeout');
      expect(one.journal[0]?.call.deadline_ms).toBeGreaterThan(500);
      expect(one.journal[0]?.call.deadline_ms).toBeLessThanOrEqual(3_000);
      expect(problem).toMatchObject({
        retryable: true,
        attempts: [{ received: expect.stringMatching(/unknown|yes/) }],
      });
      expect(answer.ms).toBeLessThan(10_000);
      await waitFor('the agent being told to stop', () => one.journal[0]?.stopped.aborted);
    });

    it('takes an answer of 1 MiB and refuses a larger one', async () => {
      agent.plays({ do: 'answer', output: { answer: 'x'.repeat(MIB - 100) } });
      const fits = await reach({ timeout_ms: 30_000 });
      expect([fits.status, fits.body.answer?.length]).toEqual([200, MIB - 100]);
      agent.plays({ do: 'answer', output: { answer: 'x'.repeat(MIB) } });
      const problem = expectProblem(await reach({ timeout_ms: 30_000 }), 'agent_response_too_large');
      expect([agent.journal.length, problem.attempts?.length]).toEqual([1, 1]);
    });

    it('stops the agent when the reach is cancelled', async () => {
      agent.plays({ do: 'hang' });
      const { body } = await api().reach({ ability: agent.ability, timeout_ms: 40_000 }, { prefer: 'respond-async' });
      const seen = await waitFor('the request at the agent', () => agent.journal[0]);
      expect((await api().post(`/v1/reaches/${body.reach_id}:cancel`)).status).toBe(202);
      await waitFor('the agent being told to stop', () => seen.stopped.aborted);
      expect((await api().ended(body.reach_id)).body).toMatchObject({
        status: 'cancelled',
        error: { code: 'reach_terminal' },
      });
      expectProblem(await api().post(`/v1/reaches/${body.reach_id}:cancel`), 'reach_terminal');
      expect(agent.journal).toHaveLength(1);
    });

    it('tells an agent that is not there from one that has left', async () => {
      const absent = await start({ name: 'absent', absent: true, endpoint: { max_retry: 1, timeout_ms: 1_000 } });
      const problem = expectProblem(
        await api().reach({ ability: absent.ability, timeout_ms: 8_000 }),
        'agent_unavailable',
      );
      expect(problem).toMatchObject({ retryable: true, attempts: [{ received: 'no' }, { received: 'no' }] });

      const leaving = await start({ name: 'leaving' });
      await leaving.leave();
      const refused = await waitFor('the leave in the view', async () => {
        const answer = await api().reach({ ability: leaving.ability });
        return answer.status === 503 ? answer : undefined;
      });
      const { diagnosis } = expectProblem(refused, 'no_ready_instance');
      expect(diagnosis).toMatchObject({
        reason: expect.stringMatching(/never_registered|not_ready/),
        agents: [
          {
            agent_name: leaving.name,
            agent_version: '1.0.0',
            status: expect.any(String),
            detail: expect.stringMatching(/\S/),
          },
        ],
      });
      expect(leaving.journal).toHaveLength(0);
    });
  });
}

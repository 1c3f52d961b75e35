/** What holds for agents over HTTP that answer "accepted" and deliver their result later. */
import type { Api } from '../support/api';
import { expectProblem } from '../support/problem';
import type { startHttpAgent, ScriptedHttpAgent } from '../support/scripted-http-agent';
import { waitFor } from '../support/wait-for';

/** What the rules for agents over HTTP share; all of it is read when the tests run. */
export interface HttpRulesStage {
  api: () => Api;
  /** The agent that {@link HttpRulesStage.reach} asks; without a script before each test. */
  agent: () => ScriptedHttpAgent;
  /** Starts one more, which is closed at the end. */
  start: (draft: Parameters<typeof startHttpAgent>[1]) => Promise<ScriptedHttpAgent>;
  reach: (more?: object, headers?: Record<string, string>) => ReturnType<Api['reach']>;
}

/** The suite. */
export function describeLateResults({ api, agent, start, reach }: HttpRulesStage): void {
  describe('that answer "accepted"', () => {
    const accepted = async (more: object = {}) => {
      const receipt = await reach({ timeout_ms: 30_000, ...more }, { prefer: 'respond-async' });
      const seen = await waitFor('the request at the agent', () => agent().journal.at(-1));
      const id = receipt.body.reach_id as string;
      const deliver = (sent: unknown, token: string | undefined = seen.headers['x-reach-token']) =>
        api().post(`/v1/reaches/${id}/result`, sent, {
          headers: token === undefined ? {} : { 'x-reach-token': token },
        });
      return { id, deliver };
    };
    const stage = (id: string) =>
      waitFor(
        'the acknowledgement',
        async () => (await api().get(`/v1/reaches/${id}`)).body.stage === 'agent_accepted',
      );

    it('deliver their result later, with the token of that reach and no other', async () => {
      agent().plays({ do: 'accept' });
      const first = await accepted();
      await stage(first.id);
      const foreign = agent().journal[0]?.headers['x-reach-token'];
      agent().plays({ do: 'accept' });
      const second = await accepted();
      await stage(second.id);

      for (const wrong of [foreign, 'nonsense', ''])
        expectProblem(await second.deliver({ output: { answer: 'stolen' } }, wrong), 'unauthorized');
      expectProblem(await second.deliver({ answer: 'not an output' }), 'invalid_request');
      expect((await second.deliver({ output: { answer: 'late' } })).status).toBe(202);
      expect((await api().ended(second.id)).body).toMatchObject({
        status: 'completed',
        output: { answer: 'late' },
        attempts: 1,
        instance: agent().instanceId,
      });
      expectProblem(await second.deliver({ output: { answer: 'again' } }), 'reach_terminal');
      expect((await api().get(`/v1/reaches/${first.id}`)).body.status).toBe('running');
      expect((await first.deliver({ error: { code: 'agent_rejected', message: 'no such order' } })).status).toBe(202);
      expect((await api().ended(first.id)).body).toMatchObject({
        status: 'dead_lettered',
        error: { code: 'agent_rejected', detail: 'no such order' },
      });
    });

    it('are not heard with the token of an attempt that failed', async () => {
      agent().plays({ do: 'fail', message: 'no' }, { do: 'accept' });
      const { id, deliver } = await accepted();
      await stage(id);
      const [failed, current] = agent().journal.map(({ headers }) => headers['x-reach-token']);
      await deliver({ output: { answer: 'of the failed attempt' } }, failed);
      await deliver({ output: { answer: 'right' } }, current);
      expect((await api().ended(id)).body).toMatchObject({
        status: 'completed',
        output: { answer: 'right' },
        attempts: 2,
      });
    });

    it('must keep to the output schema, and may correct themselves', async () => {
      const one = await start({
        name: 'http_late_schema',
        capability: { output_schema: { type: 'object', required: ['total'] } },
      });
      one.plays({ do: 'accept' });
      const { body: receipt } = await api().reach(
        { ability: one.ability, timeout_ms: 20_000 },
        { prefer: 'respond-async' },
      );
      const seen = await waitFor('the request', () => one.journal[0]);
      await stage(receipt.reach_id);
      const deliver = (sent: unknown) =>
        api().post(`/v1/reaches/${receipt.reach_id}/result`, sent, {
          headers: { 'x-reach-token': String(seen.headers['x-reach-token']) },
        });
      expectProblem(await deliver({ output: { sum: 1 } }), 'response_schema_mismatch');
      expectProblem(await deliver({ output: { total: 'x'.repeat(1_048_576) } }), 'payload_too_large');
      expect((await deliver({ output: { total: 1 } })).status).toBe(202);
      expect((await api().ended(receipt.reach_id)).body).toMatchObject({ status: 'completed', output: { total: 1 } });
    });

    it('expire with the reach when they never deliver', async () => {
      agent().plays({ do: 'accept' });
      const problem = expectProblem(await reach({ timeout_ms: 4_000 }), 'deadline_exceeded');
      expect(problem.last_error).toMatchObject({ code: 'agent_timeout' });
      expect(agent().journal).toHaveLength(1);
      const token = String(agent().journal[0]?.headers['x-reach-token']);
      expectProblem(
        await api().post(
          `/v1/reaches/${problem.reach_id}/result`,
          { output: {} },
          { headers: { 'x-reach-token': token } },
        ),
        'reach_terminal',
      );
    });
  });
}

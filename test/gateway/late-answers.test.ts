/** Agents that answer "accepted" and deliver later, late, twice, or never (R5, R6; fault 13). */
import { randomUUID } from 'node:crypto';
import { ReachAgent, type AgentHandler } from '../../src/sdk/agent';
import { startGateway, type TestGateway } from '../support/gateway';
import { expectProblem } from '../support/problem';
import type { AgentDraft, Seen } from '../support/scripted-agent';
import { startHttpAgent, type HttpStep, type ScriptedHttpAgent } from '../support/scripted-http-agent';
import { waitFor } from '../support/wait-for';

/** Far longer than a busy machine takes to post a sign or a result. */
const ACK_MS = 3_000;
let gateway: TestGateway;
const started: ScriptedHttpAgent[] = [];

beforeAll(async () => {
  gateway = await startGateway({ config: { breaker: { enabled: false } } });
});
afterAll(async () => {
  await Promise.all(started.map((agent) => agent.close()));
  await gateway.close();
});

async function anAgent(draft: Partial<AgentDraft>, ...steps: HttpStep[]): Promise<ScriptedHttpAgent> {
  const name = `late_${randomUUID().slice(0, 8)}`;
  const agent = await startHttpAgent(gateway.api, { name, ...draft });
  started.push(agent);
  agent.plays(...steps);
  return agent;
}
const patient = { endpoint: { ack_timeout_ms: ACK_MS, max_retry: 2 } };
const accept: HttpStep = { do: 'accept' };

/** A reach to an agent whose acknowledgement lasts too short to be seen for sure. */
async function sent(agent: ScriptedHttpAgent): Promise<{ id: string }> {
  const { body } = await gateway.api.reach({ ability: agent.ability, timeout_ms: 30_000 }, { prefer: 'respond-async' });
  return { id: body.reach_id as string };
}

async function accepted(agent: ScriptedHttpAgent, more: object = {}): Promise<{ id: string; seen: Seen }> {
  const { body } = await gateway.api.reach(
    { ability: agent.ability, timeout_ms: 30_000, ...more },
    { prefer: 'respond-async' },
  );
  const seen = await waitFor('the agent to be called', () => agent.journal[0]);
  const id = body.reach_id as string;
  await waitFor('its acknowledgement', async () => {
    const view = await gateway.api.get(`/v1/reaches/${id}`);
    return view.body.stage === 'agent_accepted';
  });
  return { id, seen };
}

const post = (id: string, seen: Seen, what: 'result' | 'progress', body: object = {}) =>
  gateway.api.post(`/v1/reaches/${id}/${what}`, body, { headers: { 'x-reach-token': seen.headers['x-reach-token']! } });
const traceOf = async (id: string) => (await gateway.api.get(`/v1/reaches/${id}/trace`)).body;

interface Hop {
  name: string;
  outcome: string;
  attempt?: number;
  reason?: string;
}
const waits = (trace: { hops: Hop[] }) =>
  trace.hops.filter(({ name }) => name === 'wait_result').map(({ outcome, attempt }) => ({ outcome, attempt }));

describe('an agent that accepted and fell silent', () => {
  it('gets the message again, with the same key, and its second answer counts', async () => {
    const agent = await anAgent(patient, accept);
    const { id, seen } = await accepted(agent, { idempotency_key: randomUUID() });
    const again = await waitFor('the second delivery', () => agent.journal[1]);
    expect(again.call).toMatchObject({
      reach_id: id,
      idempotency_key: seen.call.idempotency_key,
      message_id: seen.call.message_id,
      attempt: 2,
    });
    expect(again.call.fence > seen.call.fence).toBe(true);
    expect(again.atMs - seen.atMs).toBeGreaterThanOrEqual(ACK_MS);
    const isOver = async () => (await post(id, seen, 'progress')).status === 409;
    await waitFor('the first attempt to be given up', isOver);
    // Its answer comes after all: nobody waits for that attempt any more.
    expectProblem(await post(id, seen, 'result', { output: { from: 1 } }), 'reach_terminal');
    expect((await post(id, again, 'result', { output: { from: 2 } })).status).toBe(202);
    const { body } = await gateway.api.ended(id);
    expect(body).toMatchObject({ status: 'completed', output: { from: 2 }, attempts: 2 });
    const trace = await traceOf(id);
    expect(waits(trace)).toEqual([
      { outcome: 'silent', attempt: undefined },
      { outcome: 'ok', attempt: undefined },
      { outcome: 'discarded', attempt: 1 },
    ]);
  });

  it('is waited for as long as it gives signs', async () => {
    const agent = await anAgent(patient, accept);
    const { id, seen } = await accepted(agent);
    for (const until = performance.now() + 3 * ACK_MS; performance.now() < until;) {
      expect((await post(id, seen, 'progress')).status).toBe(202);
      await new Promise((resolve) => setTimeout(resolve, ACK_MS / 12));
    }
    expect(agent.journal).toHaveLength(1);
    await post(id, seen, 'result', { output: { done: true } });
    expect((await gateway.api.ended(id)).body).toMatchObject({ status: 'completed', attempts: 1 });
  });

  it('is given up after its retries, and every delivery is an attempt', async () => {
    const agent = await anAgent({ endpoint: { ack_timeout_ms: 200, max_retry: 1 } }, accept);
    const { id } = await sent(agent);
    const { body } = await gateway.api.ended(id);
    expect(body).toMatchObject({ status: 'dead_lettered', error: { code: 'agent_timeout' } });
    expect(body.attempts.map(({ n, code }: { n: number; code: string }) => [n, code])).toEqual([
      [1, 'agent_timeout'],
      [2, 'agent_timeout'],
    ]);
    expect(agent.journal).toHaveLength(2);
  });

  it('gets no more than its retries in all, however often it fails, accepts and falls silent in turns', async () => {
    const turns = Array.from({ length: 6 }, (): HttpStep[] => [{ do: 'status', status: 503 }, accept]).flat();
    const agent = await anAgent({ endpoint: { ack_timeout_ms: 200, max_retry: 3 } }, ...turns);
    const { id } = await sent(agent);
    const { body } = await gateway.api.ended(id);
    expect(body).toMatchObject({ status: 'dead_lettered', error: { code: 'agent_timeout' } });
    expect(body.attempts.map(({ n, code }: { n: number; code: string }) => [n, code])).toEqual([
      [1, 'agent_error'],
      [2, 'agent_timeout'],
      [3, 'agent_error'],
      [4, 'agent_timeout'],
    ]);
    expect(agent.journal.map(({ call }) => call.attempt)).toEqual([1, 2, 3, 4]);
  });

  it('gets nothing again that may not be sent twice: nobody knows what became of it', async () => {
    const agent = await anAgent({ endpoint: { ack_timeout_ms: 200 }, capability: { idempotent: false } }, accept);
    const { id } = await sent(agent);
    expect((await gateway.api.ended(id)).body).toMatchObject({ status: 'outcome_unknown' });
    expect(agent.journal).toHaveLength(1);
  });
});

describe('the deadline of an agent that accepted', () => {
  it("is the reach's: what comes shortly before it counts, however its signs fall", async () => {
    const agent = await anAgent({ endpoint: { ack_timeout_ms: 3_000, max_retry: 0 } }, accept);
    // By the time of the request, which is before that of its acceptance: from there the deadline counts.
    const answerAt = performance.now() + 6_500;
    const { id, seen } = await accepted(agent, { timeout_ms: 8_000 });
    while (performance.now() < answerAt - 300) {
      await post(id, seen, 'progress');
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    await new Promise((resolve) => setTimeout(resolve, answerAt - performance.now()));
    expect((await post(id, seen, 'result', { output: { just: 'in time' } })).status).toBe(202);
    expect((await gateway.api.ended(id)).body).toMatchObject({ status: 'completed', output: { just: 'in time' } });
  });

  it('ends it as expired, although it still gave signs', async () => {
    const agent = await anAgent({ endpoint: { ack_timeout_ms: 3_000, max_retry: 0 } }, accept);
    const { id, seen } = await accepted(agent, { timeout_ms: 6_000 });
    const signs = setInterval(() => void post(id, seen, 'progress'), 200);
    const { body } = await gateway.api.ended(id);
    clearInterval(signs);
    expect(body).toMatchObject({ status: 'expired', error: { code: 'deadline_exceeded' } });
  });
});

describe('a late failure', () => {
  it('that is passing is delivered again', async () => {
    const agent = await anAgent({}, accept, { do: 'answer', output: { fine: true } });
    const { id, seen } = await accepted(agent);
    await post(id, seen, 'result', { error: { code: 'agent_error', message: 'the model was away' } });
    const { body } = await gateway.api.ended(id);
    expect(body).toMatchObject({ status: 'completed', output: { fine: true }, attempts: 2 });
  });

  it('that is for good is not', async () => {
    const agent = await anAgent({}, accept);
    const { id, seen } = await accepted(agent);
    await post(id, seen, 'result', { error: { code: 'agent_rejected', message: '\u001b[2Jno such\r\n order\u0000' } });
    const { body } = await gateway.api.ended(id);
    expect(body).toMatchObject({ error: { code: 'agent_rejected', detail: '[2Jno such  order' } });
    expect(agent.journal).toHaveLength(1);
  });
});

describe('results that nobody waits for', () => {
  it('of fifty at once the first wins, the rest are traced and given to nobody', async () => {
    const agent = await anAgent({}, accept);
    const { id, seen } = await accepted(agent);
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => post(id, seen, 'result', { output: { n } })),
    );
    const late = answers.filter(({ status }) => status !== 202);
    late.forEach((answer) => expectProblem(answer, 'reach_terminal'));
    const { body } = await gateway.api.ended(id);
    const again = await post(id, seen, 'result', { output: { n: 99 } });
    expectProblem(again, 'reach_terminal');
    expect((await gateway.api.ended(id)).body.output).toEqual(body.output);
    const trace = await traceOf(id);
    const outcomes = waits(trace).map(({ outcome }) => outcome);
    expect(outcomes.filter((outcome) => outcome === 'ok')).toHaveLength(1);
    // Those that came before the end are in the history; of those after it a few leave a note.
    expect(outcomes.filter((outcome) => outcome === 'discarded').length).toBeGreaterThanOrEqual(
      Math.min(20, late.length + 1),
    );
  });
});

describe('cancelling what an agent has accepted', () => {
  it('is told to it when it next gives a sign', async () => {
    const agent = await anAgent(patient, accept);
    const { id, seen } = await accepted(agent);
    await gateway.api.post(`/v1/reaches/${id}:cancel`);
    await gateway.api.ended(id);
    expectProblem(await post(id, seen, 'progress'), 'reach_terminal');
    expectProblem(await post(id, { ...seen, headers: { 'x-reach-token': 'x' } }, 'progress'), 'unauthorized');
  });
});

describe('an agent of the SDK that accepts what takes long', () => {
  const quiet = { debug() {}, info() {}, warn() {}, error() {} };
  const agents: ReachAgent[] = [];
  afterAll(() => Promise.all(agents.map((agent) => agent.stop())));

  async function sdkAgent(handler: AgentHandler): Promise<string> {
    const name = `sdk_${randomUUID().slice(0, 8)}`;
    const agent = new ReachAgent({
      descriptor: {
        name,
        version: '1.0.0',
        capabilities: [`${name}.work`],
        endpoint: { protocol: 'http', ack_timeout_ms: 3_000, timeout_ms: 2_000, max_retry: 1 },
      },
      gateway: gateway.url,
      handlers: { [`${name}.work`]: handler },
      http: { acceptAfterMs: 100 },
      deduplication: 'off',
      log: quiet,
    });
    agents.push(agent);
    await agent.start();
    return `${name}.work`;
  }
  const long = (ms: number, signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      setTimeout(resolve, ms);
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    });

  it('answers quick calls at once and long ones later, far beyond the attempt, without being asked twice', async () => {
    let calls = 0;
    const ability = await sdkAgent(async ({ ms }, { signal }) => {
      calls += 1;
      await long(ms as number, signal);
      return { took: ms as number };
    });
    const quick = await gateway.api.reach({ ability, payload: { ms: 1 } });
    expect(quick.body).toMatchObject({ status: 'completed', output: { took: 1 } });
    const slow = await gateway.api.reach({ ability, payload: { ms: 5_000 }, timeout_ms: 20_000 });
    expect(slow.body).toMatchObject({ status: 'completed', output: { took: 5_000 }, attempts: 1 });
    expect(calls).toBe(2);
  });

  it('stops when its reach is cancelled', async () => {
    let stopped = false;
    const ability = await sdkAgent(async (_, { signal }) => {
      await long(30_000, signal).catch(() => (stopped = true));
      return {};
    });
    const { body } = await gateway.api.reach({ ability, timeout_ms: 30_000 }, { prefer: 'respond-async' });
    await waitFor('its acknowledgement', async () => {
      const view = await gateway.api.get(`/v1/reaches/${body.reach_id}`);
      return view.body.stage === 'agent_accepted';
    });
    await gateway.api.post(`/v1/reaches/${body.reach_id}:cancel`);
    await waitFor('the handler to stop', () => stopped);
  });

  it('delivers its failure as well', async () => {
    const ability = await sdkAgent(async (_, { signal }) => {
      await long(300, signal);
      throw new Error('the model is gone');
    });
    const { body } = await gateway.api.reach({ ability, timeout_ms: 20_000 });
    expect(body).toMatchObject({ code: 'agent_error', reach_status: 'dead_lettered' });
    expect(body.attempts).toHaveLength(2);
  });
});

import { randomUUID } from 'node:crypto';
import { fingerprint, reachId, reachIdOf } from '../../src/protocol/identity';
import { reachInput } from '../support/reach-input';
import type { Answer } from '../support/api';
import { startGateway, type TestGateway } from '../support/gateway';
import { expectProblem } from '../support/problem';
import { startHttpAgent, type ScriptedHttpAgent } from '../support/scripted-http-agent';
import { waitFor } from '../support/wait-for';

let first: TestGateway;
let second: TestGateway;
let agent: ScriptedHttpAgent;

beforeAll(async () => {
  first = await startGateway();
  second = await startGateway({ platform: first.platform, withWorker: false });
  agent = await startHttpAgent(first.api, {
    name: 'keyed',
    capability: { idempotency_from: '/ticket_id' },
    endpoint: { max_retry: 1 },
  });
  await waitFor(
    'the agent at the second gateway',
    async () => (await second.api.get('/v1/agents/keyed')).body.status === 'ready',
  );
});
afterAll(async () => {
  await agent.close();
  await second.close();
  await first.close();
});
beforeEach(() => agent.plays());

const key = () => `k-${randomUUID()}`;
const send = (gateway: TestGateway, more: object, headers: Record<string, string> = {}) =>
  gateway.api.reach({ ability: agent.ability, ...more }, headers);

describe('one idempotency key', () => {
  it.each(['wait=20', 'wait=0', 'respond-async'])(
    'makes 50 parallel posts at two gateways one reach and one call (Prefer: %s)',
    async (prefer) => {
      agent.plays({ do: 'answer', output: { answer: 'once' }, afterMs: 300 });
      const idempotency_key = key();
      const bodies = [
        `{"ability":"${agent.ability}","payload":{"a":1,"b":[2]},"idempotency_key":"${idempotency_key}"}`,
        `{ "idempotency_key" : "${idempotency_key}",\n "payload":{ "b":[ 2 ], "a":1.0 }, "ability":"${agent.ability}", "timeout_ms": 9000 }`,
      ];
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, n): Promise<Answer> =>
          (n % 2 ? first : second).api.raw('POST', '/v1/reaches', bodies[n % 3 ? 0 : 1], {
            headers: { 'content-type': 'application/json', prefer },
          }),
        ),
      );
      expect(answers.filter(({ status }) => status !== 200 && status !== 202).map(({ text }) => text)).toEqual([]);
      const [id, ...others] = [...new Set(answers.map(({ body }) => body.reach_id as string))];
      expect(others).toEqual([]);
      expect(answers.filter(({ body }) => body.replayed === false)).toHaveLength(1);
      expect(new Set(answers.map(({ body }) => body.agent_name))).toEqual(new Set(['keyed']));
      expect((await first.api.ended(String(id))).body).toMatchObject({
        status: 'completed',
        output: { answer: 'once' },
        attempts: 1,
      });
      expect(agent.journal).toHaveLength(1);
    },
  );

  it('is refused with another body, during and after, and never answers with the first result', async () => {
    agent.plays({ do: 'answer', output: { answer: 'mine' }, afterMs: 500 });
    const idempotency_key = key();
    const running = send(first, { idempotency_key, payload: { amount: 1 } });
    await waitFor('the request', () => agent.journal[0]);
    for (const prefer of ['wait=1', 'respond-async'])
      expectProblem(
        await send(second, { idempotency_key, payload: { amount: 2 } }, { prefer }),
        'idempotency_key_reused',
      );
    expect((await running).body.output).toEqual({ answer: 'mine' });
    for (const prefer of ['wait=1', 'respond-async'])
      expectProblem(
        await send(first, { idempotency_key, payload: { amount: 2 } }, { prefer }),
        'idempotency_key_reused',
      );
    expectProblem(
      await send(first, { idempotency_key, payload: { amount: 1 }, type: 'task', group: 'other' }),
      'idempotency_key_reused',
    );
    expect(agent.journal).toHaveLength(1);
  });

  it('does not mind another timeout, message id or trace, and may come by header', async () => {
    const idempotency_key = key();
    const { body } = await send(first, { idempotency_key, payload: { amount: 1 } });
    const repeat = await send(
      second,
      { timeout_ms: 1_234, message_id: 'other', payload: { amount: 1 } },
      { 'idempotency-key': idempotency_key, traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` },
    );
    expect(repeat.body).toEqual({ ...body, replayed: true });
    expectProblem(
      await send(first, { idempotency_key, payload: {} }, { 'idempotency-key': 'another' }),
      'invalid_request',
    );
    expect(agent.journal).toHaveLength(1);
  });

  it('is another one for another target', async () => {
    const other = await startHttpAgent(first.api, { name: 'keyed_other' });
    const idempotency_key = key();
    const ids = await Promise.all(
      [
        { ability: agent.ability },
        { ability: other.ability },
        { target_agent: agent.name },
        { target_agent: agent.name, ability: agent.ability },
      ].map(async (target) => (await first.api.reach({ ...target, idempotency_key })).body.reach_id as string),
    );
    expect(new Set(ids).size).toBe(4);
    await other.close();
  });

  it.each([
    ['empty', ''],
    ['257 characters', 'x'.repeat(257)],
    ['10,000 characters', 'x'.repeat(10_000)],
    ['with NUL', 'a\u0000b'],
    ['a number', 7],
    ['null', null],
  ])('that is %s is refused, not ignored', async (_what, idempotency_key) => {
    const problem = expectProblem(await send(first, { idempotency_key }), 'invalid_request');
    expect(problem.errors).toEqual([expect.objectContaining({ pointer: '/idempotency_key' })]);
    expect(agent.journal).toHaveLength(0);
  });

  it.each([
    ['one character', 'k'],
    ['256', 'y'.repeat(256)],
    ['spaces', ' a b '],
    ['emoji', '🧾'.repeat(50)],
  ])('of %s works', async (_what, idempotency_key) => {
    const a = await send(first, { idempotency_key });
    expect([a.status, (await send(first, { idempotency_key })).body]).toEqual([200, { ...a.body, replayed: true }]);
  });
});

describe('the repeat of a finished reach', () => {
  it('returns a success again, also after the gateway was restarted, and whatever has become of the agent', async () => {
    const leaving = await startHttpAgent(first.api, { name: 'keyed_leaving' });
    const idempotency_key = key();
    const envelope = { ability: leaving.ability, idempotency_key };
    const once = await first.api.reach(envelope);
    expect(once.body).toMatchObject({ status: 'completed', replayed: false });
    await second.close();
    second = await startGateway({ platform: first.platform, withWorker: false });
    expect((await second.api.reach(envelope)).body).toEqual({ ...once.body, replayed: true });
    expect((await second.api.reach(envelope, { prefer: 'respond-async' })).body).toEqual({
      ...once.body,
      replayed: true,
    });
    await leaving.leave();
    await first.api.delete('/v1/agents/keyed_leaving');
    expect((await first.api.reach(envelope)).body).toEqual({ ...once.body, replayed: true });
    // Without the key nobody offers it any more.
    expectProblem(await first.api.reach({ ability: leaving.ability }), 'ability_not_found');
    expect(leaving.journal).toHaveLength(1);
    await leaving.close();
  });

  it('returns a failure again, without another call', async () => {
    agent.plays({ do: 'reject', message: 'no such order' });
    const idempotency_key = key();
    const once = expectProblem(await send(first, { idempotency_key }), 'agent_rejected');
    for (const prefer of ['wait=5', 'respond-async']) {
      const again = await send(second, { idempotency_key }, { prefer });
      expect(expectProblem(again, 'agent_rejected')).toEqual({ ...once, replayed: true });
      expect(again.headers['x-reach-id']).toBe(once.reach_id);
    }
    expect(agent.journal).toHaveLength(1);
  });

  it('says of a cancelled one that it is over, the same each time', async () => {
    agent.plays({ do: 'hang' });
    const idempotency_key = key();
    const { body } = await send(first, { idempotency_key, timeout_ms: 30_000 }, { prefer: 'respond-async' });
    await waitFor('the request', () => agent.journal[0]);
    await first.api.post(`/v1/reaches/${body.reach_id}:cancel`);
    await first.api.ended(body.reach_id);
    for (const gateway of [first, second, first]) {
      const problem = expectProblem(await send(gateway, { idempotency_key, timeout_ms: 30_000 }), 'reach_terminal');
      expect(problem).toMatchObject({
        reach_id: body.reach_id,
        agent_name: 'keyed',
        decision_id: body.decision_id,
        replayed: true,
      });
    }
    expect(agent.journal).toHaveLength(1);
  });
});

it('uses up no key when it refuses', async () => {
  const idempotency_key = key();
  const name = `comes_later_${randomUUID().slice(0, 8)}`;
  const envelope = { ability: `${name}.work`, idempotency_key };
  expectProblem(await first.api.reach(envelope), 'ability_not_found');
  const late = await startHttpAgent(first.api, { name });
  expect((await first.api.reach(envelope)).body).toMatchObject({ status: 'completed', replayed: false });
  await late.close();
});

it('takes the key from the payload where the ability says so', async () => {
  const ticket_id = key();
  const a = await send(first, { payload: { ticket_id } });
  const b = await send(second, { payload: { ticket_id } });
  expect(b.body).toEqual({ ...a.body, replayed: true });
  expect(agent.journal[0]?.call.idempotency_key).toBe(ticket_id);
  expectProblem(await send(first, { payload: { ticket_id, more: true } }), 'idempotency_key_reused');
});

it('makes each send without a key a reach of its own, and the same message one', async () => {
  const message_id = randomUUID();
  const ids = await Promise.all(
    [{}, {}, { message_id }, { message_id }].map(async (more) => (await send(first, more)).body.reach_id as string),
  );
  expect(new Set(ids).size).toBe(3);
  expect(agent.journal).toHaveLength(3);
});

it('never lets ids of different tenants, sources, targets or keys meet', () => {
  const keyed = [
    { tenant: 'a', target: 't', key: 'b:c' },
    { tenant: 'a:b', target: 't', key: 'c' },
    { tenant: 'a', target: 't:b', key: 'c' },
    { tenant: 'at', target: '', key: 'b:c' },
    { tenant: 'a', target: '1:t', key: 'b:c' },
  ].map(reachId);
  const envelope = reachInput().envelope;
  const byMessage = ['x', 'y'].map((source_agent) =>
    reachIdOf({ ...envelope, key_origin: 'message', source_agent, message_id: 'm' }, 'a'),
  );
  const asKey = reachIdOf({ ...envelope, key_origin: 'caller', source_agent: 'x', idempotency_key: 'm' }, 'a');
  const ids = [...keyed, ...byMessage, asKey];
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids) expect(id).toMatch(/^r-[a-z2-7]{32}$/);
  expect(fingerprint({ ...envelope, timeout_ms: 1 })).toBe(fingerprint(envelope));
  expect(fingerprint({ ...envelope, payload: { other: 1 } })).not.toBe(fingerprint(envelope));
});

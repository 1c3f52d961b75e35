/** Who gets how many attempts over several agents (R26, R27; cases T01–T03), and `Retry-After` that means harm. */
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import { networkFailure } from '../../../src/adapters/http/wire-codes';
import type { Api } from '../../support/api';
import { startGateway, type TestGateway } from '../../support/gateway';
import { expectProblem } from '../../support/problem';
import { selfSigned } from './certificate';
import { broken, ok, startStaged, type Reply, type StagedAgent } from './support';

let gateway: TestGateway;
let api: Api;
const agents: StagedAgent[] = [];
beforeAll(async () => {
  // By name: what failed before must not decide who is asked first.
  const router = { enabled_factors: ['semantic_similarity'] };
  gateway = await startGateway({ config: { router, breaker: { enabled: false }, ejection: { max_percent: 0 } } });
  api = gateway.api;
});
afterAll(async () => {
  await Promise.all(agents.map((agent) => agent.close()));
  await gateway.close();
});

/** Two agents for one ability; the first one by name is asked first. */
async function pair(ability: string, max_retry: number, idempotent?: boolean): Promise<[StagedAgent, StagedAgent]> {
  const capabilities = [{ name: ability, ...(idempotent !== undefined && { idempotent }) }];
  const one = await startStaged(api, { name: `${ability}_a`, capabilities, endpoint: { max_retry } });
  const two = await startStaged(api, { name: `${ability}_b`, capabilities, endpoint: { max_retry } });
  agents.push(one, two);
  return [one, two];
}

describe('attempts over several agents', () => {
  it('go on at the next-best agent once the first has had its retries', async () => {
    const [one, two] = await pair('exhausted', 2);
    one.plays(() => broken);
    two.plays(() => ok);
    const { body } = await api.reach({ ability: 'exhausted', timeout_ms: 20_000 });
    expect(body).toMatchObject({ status: 'completed', agent_name: two.name, attempts: 4 });
    expect([one.visits.length, two.visits.length]).toEqual([3, 1]);
    expect(two.visits[0]?.call.attempt).toBe(4);
    expect(new Set([...one.visits, ...two.visits].map(({ call }) => call.idempotency_key)).size).toBe(1);
  });

  it.each([
    [0, [1, 0]],
    [1, [2, 0]],
    [2, [3, 0]],
    [3, [3, 1]],
    [4, [3, 2]],
    [10, [3, 3]],
  ])('are 1 + max_total_retries %i at most, all agents together', async (max_total_retries, expected) => {
    const [one, two] = await pair(`total_${max_total_retries}`, 2);
    one.plays(() => broken);
    two.plays(() => broken);
    const answer = await api.reach({ ability: `total_${max_total_retries}`, max_total_retries, timeout_ms: 30_000 });
    const problem = expectProblem(answer, 'agent_error');
    expect([one.visits.length, two.visits.length]).toEqual(expected);
    expect(problem.attempts?.map(({ n }) => n)).toEqual([...one.visits, ...two.visits].map((_, i) => i + 1));
  });

  it.each<[string, Reply | null, string]>([
    ['after_an_error', broken, 'agent_error'],
    ['after_a_silence', null, 'agent_timeout'],
  ])('are one for at_most_once %s', async (what, reply, code) => {
    const ability = `once_${what}`;
    const [one, two] = await pair(ability, 2);
    one.plays(() => reply ?? new Promise(() => undefined));
    const answer = await api.reach({ ability, delivery_semantics: 'at_most_once', timeout_ms: 3_000 });
    expect(answer.body.code).toBe(code);
    expect([one.visits.length, two.visits.length]).toEqual([1, 0]);
  });

  it('end at the first agent when it may have done what must not be done twice', async () => {
    const [one, two] = await pair('unrepeatable', 2, false);
    one.plays(() => new Promise(() => undefined));
    const problem = expectProblem(await api.reach({ ability: 'unrepeatable', timeout_ms: 3_000 }), 'agent_timeout');
    expect([one.visits.length, two.visits.length]).toEqual([1, 0]);
    expect((await api.ended(String(problem.reach_id))).body.status).toBe('outcome_unknown');
  });

  it('do not go on after a refusal of the request', async () => {
    const [one, two] = await pair('refused', 2);
    one.plays(() => ({ status: 422 }));
    expectProblem(await api.reach({ ability: 'refused' }), 'agent_rejected');
    expect([one.visits.length, two.visits.length]).toEqual([1, 0]);
  });
});

describe('Retry-After', () => {
  it.each([
    ['beyond all numbers', '9'.repeat(40)],
    ['past what a timer takes', '2147483648'],
    ['a date at the end of time', 'Fri, 31 Dec 9999 23:59:59 GMT'],
    ['negative', '-1'],
    ['a fraction', '0.5'],
    ['infinity', 'Infinity'],
    ['two values', '1, 999'],
    ['hexadecimal', '0x7fffffff'],
  ])('that is %s is passed over', async (what, value) => {
    const ability = `header_${what.replaceAll(' ', '_')}`;
    const agent = await startStaged(api, { name: ability, capabilities: [ability], endpoint: { max_retry: 1 } });
    agents.push(agent);
    agent.plays(({ call }) => (call.attempt === 1 ? { ...broken, headers: { 'retry-after': value } } : ok));
    const answer = await api.reach({ ability, timeout_ms: 20_000 });
    expect(answer.body).toMatchObject({ status: 'completed', attempts: 2 });
    expect((agent.visits[1]?.atMs ?? 0) - (agent.visits[0]?.atMs ?? 0)).toBeLessThan(4_000);
  });
});

describe('a certificate', () => {
  it('that nobody vouches for ends the reach after one attempt, and nothing is sent', async () => {
    let requests = 0;
    const server = createServer(selfSigned('somebody.else'), (_request, response) => {
      requests += 1;
      response.end('{}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const address = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
      const endpoint = { protocol: 'http', address, max_retry: 2 };
      const descriptor = { name: 'unvouched', version: '1.0.0', capabilities: ['unvouched'], endpoint };
      expect((await api.post('/v1/agents', descriptor)).status).toBe(201);
      const problem = expectProblem(await api.reach({ ability: 'unvouched' }), 'agent_protocol_error');
      expect(problem).toMatchObject({ retryable: false, attempts: [{ received: 'no' }] });
      expect(problem.attempts).toHaveLength(1);
      expect(problem.detail).toContain('TLS certificate');
      expect(requests).toBe(0);
    } finally {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  });

  it('for another name is classified the same', () => {
    const peer = { subject: { CN: 'somebody.else' }, subjectaltname: 'DNS:somebody.else' } as PeerCertificate;
    const refusal = checkServerIdentity('agent.example', peer) as NodeJS.ErrnoException | undefined;
    expect(networkFailure(refusal?.code)).toMatchObject({ code: 'agent_protocol_error', received: 'no' });
  });
});

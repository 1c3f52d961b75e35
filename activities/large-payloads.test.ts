import { ReachError } from '../src/protocol/reach-error';
import type { RouteRequest } from '../src/routing';
import { keepAnswer, keepPulled, payloadOf, withPayload } from './large-payloads';
import { fakeDependencies } from './test-support';

const { deps } = fakeDependencies();
const who = { agent: undefined, ability: 'read' };
const large = { text: 'x'.repeat(300_000), answer: 42 };
const request = { payload: {}, type: 'task', group: 'default', mode: 'sync', metadata: {} } as RouteRequest;

it('keeps an answer that is too large to travel, and lets a small one pass', async () => {
  expect(await keepAnswer(deps, { kind: 'answer', output: { small: true }, bytes: 14 }, who)).toEqual({
    kind: 'answer',
    output: { small: true },
  });
  const kept = await keepAnswer(deps, { kind: 'answer', output: large, bytes: 300_030 }, who);
  expect(kept).toMatchObject({
    output: {},
    output_claim: { ref: expect.stringMatching(/^sha256:/), answer_at: expect.anything() },
  });
});

it('keeps what a pull agent sent through the server, and takes what it has uploaded', async () => {
  const outcome = { kind: 'answer', instance: 'i-1', attempts: [] } as const;
  const kept = await keepPulled(deps, { ...outcome, attempts: [], output: large }, who);
  const { ref } = kept.output_claim!;
  const taken = await keepPulled(deps, { ...outcome, attempts: [], output: {}, output_claim: { ref } }, who);
  expect(taken.output_claim).toEqual(kept.output_claim);
  const nowhere = { ref: `sha256:${'a'.repeat(64)}:5` };
  await expect(
    keepPulled(deps, { ...outcome, attempts: [], output: {}, output_claim: nowhere }, who),
  ).rejects.toMatchObject({ code: 'agent_protocol_error' });
});

it('tells of too many values in an answer as of an answer that is too large', async () => {
  const content = Buffer.from(`{"a":[${'[],'.repeat(4_000_000)}[]]}`);
  const told = { code: 'agent_response_too_large', message: expect.stringContaining("The agent's answer has 400000") };
  await expect(keepAnswer(deps, { kind: 'unread', content }, who)).rejects.toMatchObject(told);
  const { deps: other } = fakeDependencies();
  const refuse = () => Promise.reject(new ReachError('payload_too_large', "The agent's answer has 4000003 parts"));
  const payloads = { ...other.payloads, claimUploaded: refuse } as typeof other.payloads;
  const uploaded = keepAnswer({ payloads }, { kind: 'uploaded', ref: `sha256:${'a'.repeat(64)}:5` }, who);
  await expect(uploaded).rejects.toMatchObject(told);
});

it('reads a payload only to decide anew', async () => {
  const { output_claim: claim } = (await keepAnswer(deps, { kind: 'answer', output: large, bytes: 300_030 }, who)) as {
    output_claim: { ref: string };
  };
  expect(await withPayload(deps, request)).toBe(request);
  expect((await withPayload(deps, { ...request, payload_ref: claim.ref })).payload).toEqual(large);
});

it('tells a store that is away, which may come back, from content that is gone, which will not', async () => {
  const ref = `sha256:${'a'.repeat(64)}:5`;
  const input = { envelope: { payload: {}, payload_ref: ref } } as unknown as Parameters<typeof payloadOf>[1];
  await expect(payloadOf(deps, input)).rejects.toMatchObject({ code: 'not_found' });
  const away = { ...deps.payloads, source: () => Promise.reject(new ReachError('engine_unavailable', 'away')) };
  expect(await payloadOf({ payloads: away }, input)).toMatchObject({ code: 'engine_unavailable' });
  expect(await payloadOf(deps, { envelope: { payload: {} } } as never)).toBeUndefined();
});

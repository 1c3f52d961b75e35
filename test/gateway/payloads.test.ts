import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reachHistory } from '../payloads/history';
import { putChunk, sha256, uploadChunks } from '../payloads/support';
import type { Answer } from '../support/api';
import { startGateway, type TestGateway } from '../support/gateway';
import { expectProblem } from '../support/problem';
import { startHttpAgent, type ScriptedHttpAgent } from '../support/scripted-http-agent';
import { startWorkerAgent } from '../support/scripted-worker-agent';
import type { ScriptedAgent } from '../support/scripted-agent';
import { waitFor } from '../support/wait-for';

const directory = mkdtempSync(join(tmpdir(), 'agent-reach-payloads-'));
let gateway: TestGateway;
let agent: ScriptedHttpAgent;
let picky: ScriptedHttpAgent;
let puller: ScriptedAgent;

beforeAll(async () => {
  gateway = await startGateway({
    config: { payloads: { max_bytes: 4_194_304, store: { directory } }, breaker: { enabled: false } },
  });
  agent = await startHttpAgent(gateway.api, { name: 'reader', endpoint: { max_retry: 2 } });
  picky = await startHttpAgent(gateway.api, {
    name: 'picky',
    capability: {
      input_schema: {
        type: 'object',
        required: ['text'],
        properties: { text: { type: 'string', minLength: 300_000 } },
      },
      output_schema: { type: 'object', required: ['total'] },
    },
  });
  puller = await startWorkerAgent(gateway.api, { name: 'puller', endpoint: { max_retry: 2 } });
});
afterAll(async () => {
  for (const one of [agent, picky, puller]) await one.close();
  await gateway.close();
});
beforeEach(() => {
  agent.plays();
  agent.journal.length = 0;
});

const id = () => randomUUID();
const bytesOf = (value: unknown) => Buffer.from(JSON.stringify(value));
const upload = (value: unknown) => uploadChunks(gateway.api, bytesOf(value), { id: id() });
const refOf = async (value: unknown): Promise<string> => (await upload(value)).body.payload_ref as string;
const reach = (more: object, headers: Record<string, string> = {}): Promise<Answer> =>
  gateway.api.reach({ payload: undefined, ability: agent.ability, timeout_ms: 20_000, ...more }, headers);

describe('an upload', () => {
  it('may be sent in any order, again, and completed again', async () => {
    const content = bytesOf({ text: 'x'.repeat(600_000) });
    const upload = { id: id() };
    const first = await uploadChunks(gateway.api, content, { ...upload, order: (n, of) => of - 1 - n });
    expect(first.body).toEqual({
      message_id: upload.id,
      payload_ref: `sha256:${sha256(content)}:${content.length}`,
      bytes: content.length,
    });
    expect((await uploadChunks(gateway.api, content, upload)).body).toEqual(first.body);
    const again = await putChunk(gateway.api, { ...upload, sequence: 0, content: content.subarray(0, 262_144) });
    expect(again.body).toMatchObject({ sequence: 0, bytes: 262_144, replayed: true });
  });

  it('tells which chunks are there, so that it can be gone on with', async () => {
    const upload = { id: id() };
    expectProblem(await gateway.api.get(`/v1/payloads/${upload.id}`), 'not_found');
    await putChunk(gateway.api, { ...upload, sequence: 2, content: Buffer.from('cc') });
    await putChunk(gateway.api, { ...upload, sequence: 0, content: Buffer.from('a') });
    const state = {
      message_id: upload.id,
      bytes: 3,
      chunks: [
        { sequence: 0, bytes: 1 },
        { sequence: 2, bytes: 2 },
      ],
    };
    expect((await gateway.api.get(`/v1/payloads/${upload.id}`)).body).toEqual(state);
    expect((await gateway.api.get(`/v1/payloads/${upload.id}/chunks`)).body).toEqual(state);
    expect((await gateway.api.delete(`/v1/payloads/${upload.id}`)).status).toBe(204);
    expectProblem(await gateway.api.get(`/v1/payloads/${upload.id}`), 'not_found');
  });

  it('may be numbered from 1, as well as from 0', async () => {
    const content = bytesOf({ text: 'from one' });
    const upload = { id: id() };
    await putChunk(gateway.api, { ...upload, sequence: 1, content: content.subarray(0, 5) });
    await putChunk(gateway.api, { ...upload, sequence: 2, content: content.subarray(5) });
    const done = await gateway.api.post(`/v1/payloads/${upload.id}:complete`, { chunks: 2, sha256: sha256(content) });
    expect(done.body.payload_ref).toBe(`sha256:${sha256(content)}:${content.length}`);
  });

  it('keeps the first content of a chunk', async () => {
    const upload = { id: id() };
    await putChunk(gateway.api, { ...upload, sequence: 0, content: Buffer.from('first') });
    const problem = expectProblem(
      await putChunk(gateway.api, { ...upload, sequence: 0, content: Buffer.from('other') }),
      'invalid_request',
    );
    expect(problem.errors?.[0]).toMatchObject({ pointer: '/sequence', fix: expect.stringContaining('DELETE') });
    const again = await putChunk(gateway.api, { ...upload, sequence: 0, content: Buffer.from('first') });
    expect(again.body.replayed).toBe(true);
  });

  it.each([
    ['262144 bytes', 262_144, 0, 200],
    ['one byte more', 262_145, 0, 413],
    ['nothing', 0, 0, 400],
    ['a number that is none', 1, '1.5', 400],
    ['a negative number', 1, '-1', 400],
    ['a number beyond every payload', 1, 999_999, 413],
  ])('of a chunk with %s is answered as it should be', async (_what, size, sequence, status) => {
    const answer = await putChunk(gateway.api, { id: id(), sequence, content: Buffer.alloc(size, 0x20) });
    expect(answer.status).toBe(status);
  });

  it.each([
    ['a chunk is missing', { chunks: 3 }, '/chunks'],
    ['there are more chunks', { chunks: 1 }, '/chunks'],
    ['the checksum is another', { sha256: 'a'.repeat(64) }, '/sha256'],
    ['the checksum is none', { sha256: 'abc' }, '/sha256'],
    ['the number is none', { chunks: 0 }, '/chunks'],
    ['a key is unknown', { chunk: 1 }, '/chunk'],
  ])('is not complete when %s', async (_what, change, pointer) => {
    const upload = { id: id() };
    const content = bytesOf({ text: 'short' });
    await putChunk(gateway.api, { ...upload, sequence: 0, content: content.subarray(0, 4) });
    await putChunk(gateway.api, { ...upload, sequence: 1, content: content.subarray(4) });
    const claim = { chunks: 2, sha256: sha256(content) };
    const path = `/v1/payloads/${upload.id}:complete`;
    const problem = expectProblem(await gateway.api.post(path, { ...claim, ...change }), 'invalid_request');
    expect(problem.errors?.map((error) => error.pointer)).toContain(pointer);
    expect((await gateway.api.post(path, claim)).status).toBe(200);
  });

  it.each([
    ['a duplicate key', '{"a":{"b":1,"b":2}}', 'duplicate_key', '/a/b'],
    ['a number that a double cannot hold', '{"a":9007199254740993}', 'invalid_request', '/a'],
    ['a reserved key', '{"a":{"__proto__":1}}', 'forbidden_key', '/a/__proto__'],
    ['too much depth', `{"a":${'['.repeat(70)}${']'.repeat(70)}}`, 'input_too_deep', ''],
    ['an array', '[1]', 'invalid_request', ''],
    ['half a character', '{"a":"\u00e9"}', 'invalid_request', ''],
    ['no JSON', 'hello', 'invalid_request', ''],
  ] as const)('with %s is refused under the rules of bodies', async (what, text, code, pointer) => {
    const content = what === 'half a character' ? Buffer.from(text, 'latin1') : Buffer.from(text);
    const problem = expectProblem(await uploadChunks(gateway.api, content, { id: id() }), code);
    if (code !== 'input_too_deep') expect(problem.errors?.[0]?.pointer).toBe(pointer);
  });

  it('over the limit is refused, and says what that is', async () => {
    const problem = expectProblem(await upload({ text: 'x'.repeat(4_194_304) }), 'payload_too_large');
    expect(problem.details).toEqual({ limit_bytes: 4_194_304 });
  });

  it('with a byte order mark is kept without it', async () => {
    const content = bytesOf({ text: 'marked' });
    const marked = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), content]);
    const { body } = await uploadChunks(gateway.api, marked, { id: id() });
    expect(body.payload_ref).toBe(`sha256:${sha256(content)}:${content.length}`);
  });
});

describe('a reach by reference', () => {
  it.each([262_130, 262_137, 262_140, 262_144])(
    'brings every character whole that a chunk had cut: after %i bytes',
    async (length) => {
      const text = `${'a'.repeat(length)}发票🧾`;
      const payload_ref = await refOf({ text });
      expect((await reach({ payload_ref })).status).toBe(200);
      const got = (agent.journal[0]?.call.payload as { text: string }).text;
      expect(sha256(got)).toBe(sha256(text));
      expect(got).not.toContain('\ufffd');
    },
  );

  it('looks to the agent like any other', async () => {
    await reach({ payload_ref: await refOf({ text: 'small, but uploaded' }) });
    expect(agent.journal[0]?.call.payload).toEqual({ text: 'small, but uploaded' });
    expect(agent.journal[0]?.call).not.toHaveProperty('payload_ref');
  });

  it.each([
    ['neither', {}, '/payload'],
    ['both', { payload: {}, payload_ref: `sha256:${'a'.repeat(64)}:2` }, '/payload_ref'],
    ['a reference that is none', { payload_ref: 'sha256:abc:1' }, '/payload_ref'],
    ['a reference to nothing', { payload_ref: `sha256:${'a'.repeat(64)}:2` }, '/payload_ref'],
  ])('with %s is refused and says where', async (_what, more, pointer) => {
    const problem = expectProblem(await reach(more), 'invalid_request');
    expect(problem.errors?.map((error) => error.pointer)).toContain(pointer);
    expect(agent.journal).toHaveLength(0);
  });

  it('is checked against the input schema, whole', async () => {
    const ability = picky.ability;
    picky.plays({ do: 'answer', output: { total: 1 } });
    expect((await reach({ ability, payload_ref: await refOf({ text: 'x'.repeat(300_000) }) })).status).toBe(200);
    const short = await reach({
      ability,
      payload_ref: await refOf({ text: 'x'.repeat(299_999), pad: 'y'.repeat(300_000) }),
    });
    expect(expectProblem(short, 'payload_schema_mismatch').errors?.[0]?.pointer).toBe('/text');
    const missing = await reach({ ability, payload_ref: await refOf({ other: 1 }) });
    expectProblem(missing, 'payload_schema_mismatch');
  });

  it.each([200_000, 900_000])('is the same request as one that brought its payload of %i bytes', async (size) => {
    const payload = { text: 'x'.repeat(size), more: { b: 1, a: 2 } };
    const idempotency_key = id();
    const inline = await reach({ payload, idempotency_key });
    const other = { more: { a: 2, b: 1 }, text: payload.text };
    const again = await reach({ payload_ref: await refOf(other), idempotency_key });
    expect(again.body).toMatchObject({ reach_id: inline.body.reach_id, replayed: true });
    const changed = await reach({ payload_ref: await refOf({ ...payload, more: 1 }), idempotency_key });
    expectProblem(changed, 'idempotency_key_reused');
  });

  it.each([1_100_000, 3_000_000])('tells other contents of %i bytes apart under one key', async (size) => {
    const payload = { text: 'x'.repeat(size), last: 1 };
    const idempotency_key = id();
    const first = await reach({ payload_ref: await refOf(payload), idempotency_key });
    const again = await reach({ payload_ref: await refOf({ last: 1, text: payload.text }), idempotency_key });
    expect(again.body).toMatchObject({ reach_id: first.body.reach_id, replayed: true });
    const changed = await reach({
      payload_ref: await refOf({ ...payload, text: `y${payload.text.slice(1)}` }),
      idempotency_key,
    });
    expectProblem(changed, 'idempotency_key_reused');
  });

  it('can be explained without sending it', async () => {
    const route = await gateway.api.post('/v1/route', {
      ability: agent.ability,
      payload_ref: await refOf({ text: 'x' }),
    });
    expect(route.body).toMatchObject({ agent_name: 'reader' });
    expect(agent.journal).toHaveLength(0);
  });
});

describe('a body', () => {
  it('over 1 MiB is refused, and told to come in chunks', async () => {
    const problem = expectProblem(await reach({ payload: { text: 'x'.repeat(1_200_000) } }), 'payload_too_large');
    expect(problem.detail).toContain('/v1/payloads/');
    const barely = expectProblem(await reach({ payload: { text: 'x'.repeat(1_048_576) } }), 'payload_too_large');
    expect(barely.detail).toContain('/v1/payloads/');
  });

  it('of a few bytes leaves nothing in the store', async () => {
    const own = mkdtempSync(join(tmpdir(), 'agent-reach-payloads-'));
    const fresh = await startGateway({
      platform: gateway.platform,
      config: { payloads: { store: { directory: own } } },
    });
    expect((await fresh.api.reach({ ability: agent.ability, payload: { text: 'small' } })).status).toBe(200);
    expect(readdirSync(own)).toEqual([]);
    await fresh.close();
  });
});

describe('histories', () => {
  const busy = { do: 'busy' } as const;

  it.each([
    ['100 KB, inline all the way', 100_000],
    ['250 KB, kept by the gateway', 250_000],
    ['1 MB, kept by the gateway', 1_000_000],
  ])(
    'hold no event over 256 KiB for a payload and an answer of %s, after attempts that failed',
    async (_what, size) => {
      const text = 'x'.repeat(size);
      for (const one of [agent, puller]) {
        one.plays(busy, busy, { do: 'answer', output: { text } });
        const answer = await reach({ ability: one.ability, payload: { text } });
        expect(answer.body).toMatchObject({ status: 'completed', output: { text }, attempts: 3 });
        const { largest } = await reachHistory(answer.body.reach_id);
        expect(largest).toBeLessThan(262_144);
        if (size > 131_072) expect(largest).toBeLessThan(65_536);
      }
    },
  );
});

describe('a large answer', () => {
  const output = { total: 1, answer: { text: '发票🧾'.repeat(60_000) }, more: 'x'.repeat(1_000_000) };

  it('is told by every way to the result, with its answer lifted out', async () => {
    agent.plays({ do: 'answer', output });
    const posted = await reach({ payload: {} });
    const got = await gateway.api.ended(posted.body.reach_id);
    for (const { body, headers, text } of [posted, got]) {
      expect(body).toMatchObject({ status: 'completed', output, answer: output.answer });
      expect(body.output_ref).toMatch(/^sha256:/);
      expect(Number(headers['content-length'])).toBe(Buffer.byteLength(text));
    }
    const content = await gateway.api.get(`/v1/payloads/${posted.body.output_ref}`);
    expect(content.body).toEqual(output);
  });

  it('must keep to the output schema', async () => {
    picky.plays({ do: 'answer', output: { text: 'x'.repeat(2_000_000) } });
    const answer = await reach({
      ability: picky.ability,
      payload: { text: 'x'.repeat(300_000) },
      max_total_retries: 0,
    });
    expect(expectProblem(answer, 'response_schema_mismatch').detail).toContain('total');
  });

  it('must be JSON under the rules, however large', async () => {
    const body = `{"a":1,"a":2,"pad":"${'x'.repeat(2_000_000)}"}`;
    agent.plays({ do: 'status', status: 200, body });
    expectProblem(await reach({ payload: {}, max_total_retries: 0 }), 'agent_protocol_error');
  });

  it.each([
    ['200 KB', 200_000],
    ['2 MB', 2_000_000],
  ])('may be late: %s', async (_what, size) => {
    agent.plays({ do: 'accept' });
    const receipt = await reach({ payload: {} }, { prefer: 'respond-async' });
    const seen = await waitFor('the request', () => agent.journal[0]);
    const deliver = (token: string, text: string) =>
      gateway.api.post(
        `/v1/reaches/${receipt.body.reach_id}/result`,
        { output: { text, answer: 'late' } },
        {
          headers: { 'x-reach-token': token },
        },
      );
    const token = String(seen.headers['x-reach-token']);
    await waitFor('its acceptance', async () => {
      const { body } = await gateway.api.get(`/v1/reaches/${receipt.body.reach_id}`);
      return body.stage === 'agent_accepted';
    });
    expectProblem(await deliver('forged', 'x'.repeat(size)), 'unauthorized');
    expectProblem(await deliver(token, 'x'.repeat(4_194_304)), 'payload_too_large');
    expect((await deliver(token, 'x'.repeat(size))).status).toBe(202);
    const { body } = await gateway.api.ended(receipt.body.reach_id);
    expect(body).toMatchObject({ status: 'completed', answer: 'late', output: { text: 'x'.repeat(size) } });
    expect((await reachHistory(receipt.body.reach_id)).largest).toBeLessThan(262_144);
  });
});

describe('a dead letter with a large payload', () => {
  it.each([
    ['shows it', 300_000, true],
    ['shows a reference that says how large it is', 2_000_000, false],
  ])('%s, and can be redriven', async (_what, size, isShown) => {
    const payload = { text: 'x'.repeat(size) };
    agent.plays({ do: 'reject', message: 'not today' });
    const answer = await reach({ payload_ref: await refOf(payload) });
    const { reach_id } = expectProblem(answer, 'agent_rejected');
    const { body } = await gateway.api.get(`/v1/dead-letters/${reach_id}`);
    expect(body.envelope.payload_ref).toMatch(/^sha256:[0-9a-f]{64}:\d+$/);
    expect(body.envelope.payload).toEqual(isShown ? payload : undefined);
    agent.plays({ do: 'answer', output: { fine: true } });
    agent.journal.length = 0;
    expect((await gateway.api.post(`/v1/dead-letters/${reach_id}:redrive`, {})).status).toBe(202);
    expect((await gateway.api.ended(String(reach_id))).body).toMatchObject({ status: 'completed' });
    expect(agent.journal[0]?.call.payload).toEqual(payload);
  });
});

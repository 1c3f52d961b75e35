import { randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { AgentReachClient, ReachError } from '../../src/sdk/client';
import { startGateway, type TestGateway } from '../support/gateway';
import { expectProblem } from '../support/problem';

let gateway: TestGateway;
let client: AgentReachClient;
let path: string;
let id: string;

beforeAll(async () => {
  gateway = await startGateway({ apiKey: 'k-1', withWorker: false, config: { payloads: { max_bytes: MAX_BYTES } } });
  client = new AgentReachClient({ url: gateway.url, apiKey: 'k-1' });
});
afterAll(async () => {
  await client?.close();
  await gateway?.close();
});
beforeEach(() => {
  id = `工单 ${randomUUID()}/7`;
  path = `/v1/contexts/${encodeURIComponent(id)}`;
});

/** `payloads.max_bytes` of this gateway: the largest value. */
const MAX_BYTES = 2_097_152;
const json = { headers: { 'content-type': 'application/json' } };
const raw = (body: string) => gateway.api.raw('PATCH', path, body, json);
const patch = (...operations: object[]) => raw(JSON.stringify({ operations }));
const set = (field: string, value: unknown, base_version: unknown) => ({ op: 'set', field, value, base_version });

describe('PATCH, GET and DELETE', () => {
  it('write, read and delete', async () => {
    expectProblem(await gateway.api.get(path), 'not_found');
    const made = await patch(set('customer', { name: '张' }, 0), { op: 'append', field: 'log', value: 1 });
    expect(made).toMatchObject({
      status: 200,
      body: { context_id: id, deleted: [], fields: { customer: { value: { name: '张' }, updated_by: 'api-key' } } },
    });
    const { body } = await gateway.api.get(path);
    expect(body).toMatchObject({
      context_id: id,
      fields: { customer: made.body.fields.customer, log: { value: [1] } },
    });
    expect(new Date(body.fields.log.updated_at).toISOString()).toBe(body.fields.log.updated_at);
    expect(Object.keys((await gateway.api.get(`${path}?fields=log,nobody`)).body.fields)).toEqual(['log']);
    expect((await gateway.api.delete(path)).status).toBe(204);
    expectProblem(await gateway.api.delete(path), 'not_found');
    expectProblem(await gateway.api.get(path), 'not_found');
  });

  it('a conflict names every field with its current version and value, and writes nothing', async () => {
    const { body } = await patch(set('a', 1, 0), set('b', 2, 0));
    const answer = await patch(set('a', 9, 1), set('b', 9, body.fields.b.version), set('c', 9, 3));
    const problem = expectProblem(answer, 'context_conflict');
    expect(problem).toMatchObject({
      retryable: false,
      conflicts: [
        { field: 'a', base_version: 1, current_version: body.fields.a.version, current_value: 1 },
        { field: 'c', base_version: 3, current_version: 0, current_value: null },
      ],
      errors: [{ pointer: '/operations/0/base_version' }, { pointer: '/operations/2/base_version' }],
    });
    expect((await gateway.api.get(path)).body.fields.b.value).toBe(2);
  });

  it.each([
    ['""', '/operations/0/base_version'],
    ['"7"', '/operations/0/base_version'],
    ['null', '/operations/0/base_version'],
    ['1.5', '/operations/0/base_version'],
    ['-1', '/operations/0/base_version'],
    ['9007199254740992', '/operations/0/base_version'],
    ['9007199254740993', '/operations/0/base_version'],
    ['1e400', '/operations/0/base_version'],
    ['true', '/operations/0/base_version'],
    ['[0]', '/operations/0/base_version'],
  ])('a base version of %s is refused, for every operation and in a batch', async (base, pointer) => {
    for (const op of ['"set","value":1', '"append","value":1', '"delete"']) {
      const answer = await raw(
        `{"operations":[{"op":${op},"field":"a","base_version":${base}},{"op":"append","field":"b","value":1}]}`,
      );
      expect(expectProblem(answer, 'invalid_request').errors).toMatchObject([{ pointer }]);
    }
    expectProblem(await gateway.api.get(path), 'not_found');
  });

  it('a set or delete without a base version is refused, unless forced', async () => {
    for (const op of [
      { op: 'set', field: 'a', value: 1 },
      { op: 'delete', field: 'a' },
      { op: 'set', field: 'a', value: 1, force: false },
    ]) {
      const problem = expectProblem(await patch({ op: 'append', field: 'x', value: 1 }, op), 'invalid_request');
      expect(problem.errors).toMatchObject([
        { pointer: '/operations/1/base_version', message: expect.stringMatching(/is missing/) },
      ]);
    }
    expect(
      (await patch({ op: 'set', field: 'a', value: 1, force: true }, { op: 'delete', field: 'b', force: true })).status,
    ).toBe(200);
  });

  it.each([
    ['{}', 'invalid_request', '/operations'],
    ['{"operations":[]}', 'invalid_request', '/operations'],
    ['{"operations":[{"op":"put","field":"a","value":1,"base_version":0}]}', 'invalid_request', '/operations/0/op'],
    ['{"operations":[{"op":"set","field":"","value":1,"base_version":0}]}', 'invalid_request', '/operations/0/field'],
    ['{"operations":[{"op":"set","field":"a","base_version":0}]}', 'invalid_request', '/operations/0/value'],
    ['{"operations":[{"op":"append","field":"a"}]}', 'invalid_request', '/operations/0/value'],
    [
      '{"operations":[{"op":"delete","field":"a","value":1,"base_version":0}]}',
      'invalid_request',
      '/operations/0/value',
    ],
    [
      '{"operations":[{"op":"set","field":"a","value":1,"baseVersion":0}]}',
      'invalid_request',
      '/operations/0/baseVersion',
    ],
    ['{"set":{"a":1}}', 'invalid_request', '/operations'],
    [
      '{"operations":[{"op":"set","field":"a","value":9007199254740993,"base_version":0}]}',
      'invalid_request',
      '/operations/0/value',
    ],
    [
      '{"operations":[{"op":"set","field":"a","value":1e400,"base_version":0}]}',
      'invalid_request',
      '/operations/0/value',
    ],
    [
      '{"operations":[{"op":"set","field":"a","field":"b","value":1,"base_version":0}]}',
      'duplicate_key',
      '/operations/0/field',
    ],
    [
      '{"operations":[{"op":"set","field":"a","value":{"__proto__":{"role":"admin"},"n":1},"base_version":0}]}',
      'forbidden_key',
      '/operations/0/value/__proto__',
    ],
    [
      '{"operations":[{"op":"set","field":"__proto__","value":{"role":"admin"},"base_version":0}]}',
      'forbidden_key',
      '/operations/0/field',
    ],
    [
      '{"operations":[{"op":"set","field":"a","value":{"constructor":{"prototype":{}}},"base_version":0}]}',
      'forbidden_key',
      '/operations/0/value/constructor/prototype',
    ],
  ] as const)('refuses %s', async (body, code, pointer) => {
    const problem = expectProblem(await raw(body), code);
    expect(problem.errors!.map((error) => error.pointer)).toContain(pointer);
    expect(({} as { role?: string }).role).toBeUndefined();
    expectProblem(await gateway.api.get(path), 'not_found');
  });

  it('bounds depth and size', async () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    expectProblem(await raw(`{"operations":[{"op":"append","field":"a","value":${deep}}]}`), 'input_too_deep');
    const fits = `${'['.repeat(61)}${']'.repeat(61)}`;
    expect((await raw(`{"operations":[{"op":"append","field":"a","value":${fits}}]}`)).status).toBe(200);
    // Between the two limits, of a value and of a body, is room for names; the gateway of this file takes 2 MiB.
    const value = expectProblem(await patch(set('big', 'x'.repeat(MAX_BYTES), 0)), 'payload_too_large');
    expect(value.errors).toMatchObject([{ pointer: '/operations/0/value', fix: expect.any(String) }]);
    const body = expectProblem(await patch(set('big', 'x'.repeat(MAX_BYTES + 100_000), 0)), 'payload_too_large');
    expect(body.errors).toMatchObject([{ pointer: '/operations', fix: expect.any(String) }]);
    expectProblem(await patch(...Array.from({ length: 101 }, (_, n) => set(`f${n}`, n, 0))), 'invalid_request');
    expect((await patch(...Array.from({ length: 100 }, (_, n) => set(`f${n}`, [n], 0)))).status).toBe(200);
  });

  it('keeps numbers and keys exactly', async () => {
    await raw(
      '{"operations":[{"op":"set","field":"n","value":[0.1,1e21,9007199254740991,-0.0,{"10":1,"9":2}],"base_version":0}]}',
    );
    expect((await gateway.api.get(path)).text).toContain('[0.1,1e+21,9007199254740991,0,{"9":2,"10":1}]');
  });

  it('refuses ids that no context can have, and callers without a key', async () => {
    expectProblem(await gateway.api.get(`/v1/contexts/${'x'.repeat(129)}`), 'invalid_request');
    expectProblem(await gateway.api.get('/v1/contexts/a%0ab'), 'invalid_request');
    for (const dots of ['%2e', '%2E%2e'])
      expect(await statusOf(gateway.url, `/v1/contexts/${dots}`)).toEqual([400, '/id']);
    expectProblem(await gateway.api.get(path, { headers: { authorization: 'Bearer no' } }), 'unauthorized');
    expectProblem(
      await gateway.api.raw('PATCH', path, '{}', { headers: { 'content-type': 'text/plain' } }),
      'unsupported_media_type',
    );
  });
});

describe('large values', () => {
  it('are written and read as any other, by whatever client', async () => {
    const text = '票'.repeat(500_000);
    const made = await patch(set('text', text, 0), set('list', [text.slice(0, 100_000), 1], 0), set('small', 1, 0));
    expect(made.status).toBe(200);
    expect(made.body.fields.text).not.toHaveProperty('value');
    await patch({ op: 'append', field: 'list', value: text.slice(0, 50_000) });
    const { body, headers } = await gateway.api.get(path);
    expect(headers['content-type']).toMatch(/^application\/json/);
    expect(body.fields).toMatchObject({
      text: { value: text, version: made.body.fields.text.version },
      small: { value: 1 },
    });
    expect(body.fields.list.value).toEqual([text.slice(0, 100_000), 1, text.slice(0, 50_000)]);
    const context = client.context(id);
    expect((await context.get({ fields: ['text'] })).fields.text).toEqual(body.fields.text);
    const [conflict] = expectProblem(await patch(set('text', 'other', 1)), 'context_conflict').conflicts!;
    expect(conflict).toMatchObject({ current_value: null, current_value_ref: { bytes: 1_500_002 } });
    const there = await gateway.api.get(conflict!.current_value_ref!.href);
    expect(there.body.fields.text).toEqual(body.fields.text);
    await context.set('text', 'small again', { baseVersion: conflict!.current_version });
    expect((await context.get()).fields.text!.value).toBe('small again');
  });

  it('are read as strictly as small ones', async () => {
    const long = '"x"'.padEnd(600_000);
    const bodyOf = (value: string) =>
      `{"operations":[{"op":"set","field":"a","value":${value},"base_version":0}]}${long.slice(3)}`;
    expectProblem(await raw(bodyOf('{"a":1,"a":2}')), 'duplicate_key');
    expectProblem(await raw(bodyOf('9007199254740993')), 'invalid_request');
    expectProblem(await raw(bodyOf('"\\ud800"')), 'invalid_request');
    expect((await raw(bodyOf('[1]'))).status).toBe(200);
  });
});

describe('the SDK', () => {
  it('reads, sets, appends, deletes', async () => {
    const context = client.context(id);
    const version = await context.set('a', 1, { baseVersion: 0 });
    await context.append('log', 'x');
    expect((await context.get()).fields).toMatchObject({ a: { value: 1, version }, log: { value: ['x'] } });
    await context.delete('a', { baseVersion: version });
    await context.set('log', 'now text', { force: true });
    expect((await context.get({ fields: ['log'] })).fields).toMatchObject({ log: { value: 'now text' } });
    expect(await client.contexts.deleteContext(id)).toBe(true);
    expect(await client.contexts.deleteContext(id)).toBe(false);
  });

  it('a conflict is an error with the current values', async () => {
    const context = client.context(id);
    const version = await context.set('a', 1, { baseVersion: 0 });
    const error = await context.set('a', 2, { baseVersion: 0 }).catch((caught: unknown) => caught as ReachError);
    expect(error).toBeInstanceOf(ReachError);
    expect((error as ReachError).options.extra?.conflicts).toEqual([
      { field: 'a', base_version: 0, current_version: version, current_value: 1 },
    ]);
  });

  it('twenty that count at once lose nothing', async () => {
    const count = () =>
      client.context(id).update<{ total: number }>((fields) => {
        fields.total = (fields.total ?? 0) + 1;
      });
    for (let round = 0; round < 2; round += 1) await Promise.all(Array.from({ length: 20 }, count));
    expect((await client.context(id).get()).fields.total!.value).toBe(40);
  });

  it('an update may change the draft, return fields, or return operations; what stays is not written', async () => {
    const context = client.context(id);
    await context.update(() => ({ a: 1, b: { c: 2 }, d: 3 }));
    const { fields: before } = await context.get();
    await context.update((fields) => {
      (fields.b as { c: number }).c = 3;
      delete fields.d;
    });
    await context.update(({ a }) => [{ op: 'append', field: 'log', value: a as number }]);
    expect(await context.update(() => undefined)).toEqual({ context_id: id, fields: {}, deleted: [] });
    await context.update(() => ({ a: undefined, e: null }));
    const { fields } = await context.get();
    expect(Object.fromEntries(Object.entries(fields).map(([name, { value }]) => [name, value]))).toEqual({
      b: { c: 3 },
      e: null,
      log: [1],
    });
    expect(fields.b!.version).toBeGreaterThan(before.b!.version);
  });

  it('an update gives up after its attempts, and throws what its function throws', async () => {
    const context = client.context(id);
    let runs = 0;
    const losing = context.update(
      async () => {
        runs += 1;
        await context.set('a', runs, { force: true });
        return { a: 'mine' };
      },
      { maxAttempts: 3 },
    );
    await expect(losing).rejects.toMatchObject({ code: 'context_conflict' });
    expect(runs).toBe(3);
    await expect(
      context.update(() => {
        throw new RangeError('no');
      }),
    ).rejects.toThrow(RangeError);
  });
});

/** What a path is answered that no URL library would ask for: status, and the pointer of what is wrong. */
function statusOf(url: string, path: string): Promise<[number, string]> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    request({ hostname, port, path, headers: { authorization: 'Bearer k-1' } }, (response) => {
      let text = '';
      response.on('data', (piece: Buffer) => (text += piece.toString()));
      response.on('end', () => resolve([response.statusCode ?? 0, JSON.parse(text).errors[0].pointer as string]));
    })
      .on('error', reject)
      .end();
  });
}

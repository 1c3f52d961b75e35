import { randomUUID } from 'node:crypto';
import { startGateway, type TestGateway } from '../support/gateway';
import { expectProblem } from '../support/problem';
import { waitFor } from '../support/wait-for';
import { descriptorOf, registerDescriptor } from '../support/scripted-agent';
import { startHttpAgent, type ScriptedHttpAgent } from '../support/scripted-http-agent';

const MIB = 1_048_576;
let gateway: TestGateway;
let agent: ScriptedHttpAgent;

beforeAll(async () => {
  gateway = await startGateway();
  agent = await startHttpAgent(gateway.api, {
    name: 'reader',
    capability: { name: 'invoice-ocr' },
    descriptor: { accepted_message_types: ['task', 'note'] },
  });
});
afterAll(async () => {
  await agent.close();
  await gateway.close();
});
beforeEach(() => agent.plays());

const JSON_TYPE = 'application/json';
const raw = (body: string | Buffer, type = JSON_TYPE, headers: Record<string, string> = {}) =>
  gateway.api.raw('POST', '/v1/reaches', body, { headers: { 'content-type': type, prefer: 'wait=20', ...headers } });
const envelope = (payload: string, more = '') => `{"ability":"invoice-ocr","payload":${payload}${more}}`;
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);

describe('a body', () => {
  it('is one and the same with a BOM, with white space, and under a sloppy content type', async () => {
    const body = envelope('{"票":"🧾"}', `,"idempotency_key":"bom-${randomUUID()}"`);
    const answers = [
      await raw(body),
      await raw(Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(body)])),
      await raw(`\n ${body} `, 'application/json; utf-8'),
      await raw(body, 'Application/JSON;charset="UTF-8"'),
      await raw(body, 'application/problem+json'),
    ];
    expect(new Set(answers.map(({ body: { reach_id } }) => reach_id as string)).size).toBe(1);
    expect(agent.journal.map(({ call }) => call.payload)).toEqual([{ 票: '🧾' }]);
  });

  it.each([
    'application/json; charset=utf-7',
    'application/json;charset=iso-8859-1',
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    'application/yaml',
    '',
  ])('of type %j is refused with 415', async (type) => {
    expectProblem(await raw(envelope('{}'), type), 'unsupported_media_type');
  });

  it('in an encoding that nobody reads is refused with 415, gzip is read', async () => {
    const { gzipSync } = await import('node:zlib');
    expectProblem(await raw(envelope('{}'), JSON_TYPE, { 'content-encoding': 'zstd' }), 'unsupported_media_type');
    expectProblem(await raw('not gzip', JSON_TYPE, { 'content-encoding': 'gzip' }), 'invalid_request');
    expect((await raw(gzipSync(envelope('{}')), JSON_TYPE, { 'content-encoding': 'gzip' })).status).toBe(200);
    expectProblem(
      await raw(gzipSync(envelope(`{"a":"${'x'.repeat(3 * MIB)}"}`)), JSON_TYPE, { 'content-encoding': 'gzip' }),
      'payload_too_large',
    );
  });

  it.each<
    [string, string | Buffer, 'invalid_request' | 'duplicate_key' | 'input_too_deep' | 'forbidden_key', string | null]
  >([
    ['nothing', '', 'invalid_request', null],
    ['half a document', '{"ability":', 'invalid_request', null],
    ['an array', '[]', 'invalid_request', null],
    ['null', 'null', 'invalid_request', null],
    [
      'bytes that are no UTF-8',
      Buffer.concat([
        Buffer.from('{"ability":"invoice-ocr","payload":{"a":"'),
        Buffer.from([0xc3, 0x28]),
        Buffer.from('"}}'),
      ]),
      'invalid_request',
      null,
    ],
    ['half a surrogate pair', envelope('{"a":"\\ud800"}'), 'invalid_request', '/payload/a'],
    ['a number that no double holds', envelope('{"a":[1,9007199254740993]}'), 'invalid_request', '/payload/a/1'],
    ['a number beyond all', envelope('{"a":1e400}'), 'invalid_request', '/payload/a'],
    ['a key twice', envelope('{"a":1,"b":{"c":1,"c":2}}'), 'duplicate_key', '/payload/b/c'],
    [
      'the idempotency key twice',
      envelope('{}', ',"idempotency_key":"A","idempotency_key":"B"'),
      'duplicate_key',
      '/idempotency_key',
    ],
    ['100,000 levels', envelope(`{"a":${nested(100_000)}}`), 'input_too_deep', null],
    ['65 levels', envelope(`{"a":${nested(63)}}`), 'input_too_deep', null],
    ['__proto__', envelope('{"a":{"__proto__":{"role":"admin"}}}'), 'forbidden_key', '/payload/a/__proto__'],
    [
      'constructor.prototype',
      envelope('{"constructor":{"prototype":{"role":"admin"}}}'),
      'forbidden_key',
      '/payload/constructor/prototype',
    ],
    ['an unknown key', envelope('{}', ',"timeout":5'), 'invalid_request', '/timeout'],
    ['a payload that is an array', envelope('[]'), 'invalid_request', '/payload'],
    ['no target', '{"payload":{}}', 'invalid_request', '/ability'],
    ['an event that names no topic', envelope('{}', ',"mode":"event"'), 'invalid_request', '/topic'],
    [
      'exactly_once without a key',
      envelope('{}', ',"delivery_semantics":"exactly_once"'),
      'invalid_request',
      '/idempotency_key',
    ],
  ])('of %s is refused and says where', async (_what, body, code, pointer) => {
    const problem = expectProblem(await raw(body), code);
    if (pointer !== null) expect(problem.errors?.map((error) => error.pointer)).toContain(pointer);
    expect(agent.journal).toHaveLength(0);
    expect(({} as { role?: string }).role).toBeUndefined();
  });

  it('tells all findings at once', async () => {
    const { errors } = expectProblem(
      await raw('{"payload":7,"mode":"maybe","timeout_ms":0,"nonsense":1}'),
      'invalid_request',
    );
    expect(errors?.map(({ pointer }) => pointer).toSorted()).toEqual(
      expect.arrayContaining(['/mode', '/nonsense', '/payload', '/timeout_ms']),
    );
  });

  it('may be 64 levels deep', async () => {
    expect((await raw(envelope(`{"a":${nested(62)}}`))).status).toBe(200);
  });

  it('that breaks off leaves the gateway standing', async () => {
    const { connect } = await import('node:net');
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
    socket.write(
      'POST /v1/reaches HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"abil',
    );
    await new Promise((resolve) => setTimeout(resolve, 50));
    socket.destroy();
    expect((await gateway.api.get('/healthz')).status).toBe(200);
  });
});

describe('a payload', () => {
  const sized = (bytes: number) => JSON.stringify({ a: 'x'.repeat(bytes - 8) });

  it('may be 1 MiB and not a byte more', async () => {
    const fits = await raw(envelope(sized(MIB), ',"timeout_ms":60000'));
    expect([fits.status, agent.journal[0]?.call.payload.a]).toEqual([200, 'x'.repeat(MIB - 8)]);
    const problem = expectProblem(await raw(envelope(sized(MIB + 1))), 'payload_too_large');
    expect(problem.errors).toEqual([expect.objectContaining({ pointer: '/payload' })]);
    expectProblem(await raw(envelope(sized(3 * MIB))), 'payload_too_large');
    expect(agent.journal).toHaveLength(1);
  });

  it('counts as it is sent on: numbers that grow are counted grown', async () => {
    expectProblem(await raw(envelope(`{"a":[${'1e20,'.repeat(60_000)}0]}`)), 'payload_too_large');
  });

  it('must match the input schema of somebody', async () => {
    const input_schema = {
      type: 'object',
      required: ['toString', 'n'],
      properties: { n: { type: 'integer' } },
      additionalProperties: false,
    };
    const strict = await startHttpAgent(gateway.api, { name: 'strict', capability: { input_schema } });
    const problem = expectProblem(
      await gateway.api.reach({ ability: strict.ability, payload: { n: 'x', other: 1 } }),
      'payload_schema_mismatch',
    );
    expect(problem.errors?.map(({ pointer }) => pointer)).toEqual(expect.arrayContaining(['/n', '/other']));
    expect(problem.errors?.some(({ message, pointer }) => `${pointer} ${message}`.includes('toString'))).toBe(true);
    expect(problem.diagnosis).toMatchObject({ reason: 'payload_schema_mismatch', agents: [{ agent_name: 'strict' }] });
    expect(strict.journal).toHaveLength(0);
    await strict.close();
  });
});

describe('timeout_ms', () => {
  it.each([
    '0',
    '-1',
    '0.5',
    '"5000"',
    'null',
    'true',
    '604800001',
    '2147483648',
    '4294967296',
    '9007199254740991',
    '1e400',
    '1e3000',
    '[]',
  ])('%s is refused, never an immediate timeout', async (value) => {
    const { errors } = expectProblem(await raw(envelope('{}', `,"timeout_ms":${value}`)), 'invalid_request');
    expect(errors?.[0]?.pointer).toBe('/timeout_ms');
    expect(agent.journal).toHaveLength(0);
  });

  it.each(['10000', '1e4', '604800000'])('%s is taken', async (value) => {
    expect((await raw(envelope('{}', `,"timeout_ms":${value}`))).status).toBe(200);
  });

  it('1 may pass before anybody is called, and says so', async () => {
    const problem = expectProblem(await raw(envelope('{}', ',"timeout_ms":1')), 'deadline_exceeded');
    expect(problem.attempts).toEqual([]);
    expect(agent.journal).toHaveLength(0);
  });

  it('may come as a header; the two must agree', async () => {
    await raw(envelope('{}'), JSON_TYPE, { 'x-reach-timeout-ms': '12000' });
    expect(agent.journal[0]?.call.deadline_ms).toBeLessThanOrEqual(6_000);
    expect(
      (await raw(envelope('{}', ',"timeout_ms":12000'), JSON_TYPE, { 'x-reach-timeout-ms': '12000' })).status,
    ).toBe(200);
    for (const header of ['12001', '0', '5s', '12e3', '+12000', ''])
      expectProblem(
        await raw(envelope('{}', ',"timeout_ms":12000'), JSON_TYPE, { 'x-reach-timeout-ms': header }),
        'invalid_request',
      );
  });
});

describe('a name that is not quite right', () => {
  it.each([
    ['invoice_ocr', /separator/],
    ['Invoice-OCR', /case/],
    ['invoice-ocr ', /white ?space/],
    ['\u0456nvoice-ocr', /look/],
    ['\uff49nvoice-ocr', /look|width/],
    ['invoice-orc', /\S/],
  ])('%j is not found, and told from the right one', async (ability, why) => {
    const { diagnosis } = expectProblem(await gateway.api.reach({ ability }), 'ability_not_found');
    expect(diagnosis).toMatchObject({
      reason: 'name_mismatch',
      closest: [{ name: 'invoice-ocr', why: expect.stringMatching(why) }],
    });
    expect(agent.journal).toHaveLength(0);
  });

  it.each(['constructor', 'toString', '__proto__', 'nothing_like_it_at_all'])(
    '%s is simply not found',
    async (ability) => {
      const { diagnosis } = expectProblem(await gateway.api.reach({ ability }), 'ability_not_found');
      expect(diagnosis?.closest).toEqual([]);
      expectProblem(await gateway.api.get(`/v1/abilities/${ability}`), 'ability_not_found');
      expectProblem(await gateway.api.get(`/v1/agents/${ability}`), 'agent_not_found');
    },
  );

  it('cannot be registered beside the right one', async () => {
    const twin = descriptorOf({ name: 'twin', capability: { name: 'invoice_ocr' } }, 'http');
    expectProblem(await gateway.api.post('/v1/agents', twin), 'name_collision');
  });

  it('of an agent has its nearest names as well', async () => {
    expect(
      expectProblem(await gateway.api.reach({ target_agent: 'raeder' }), 'agent_not_found').diagnosis,
    ).toMatchObject({ reason: 'agent_unknown', closest: [{ name: 'reader' }] });
  });
});

it('refuses a message type that nobody accepts', async () => {
  const { diagnosis } = expectProblem(
    await gateway.api.reach({ ability: 'invoice-ocr', type: 'event' }),
    'message_type_not_accepted',
  );
  expect(diagnosis).toMatchObject({
    reason: 'message_type_not_accepted',
    agents: [{ agent_name: 'reader' }],
    message: expect.stringContaining('note'),
  });
  expect((await gateway.api.reach({ ability: 'invoice-ocr', type: 'note' })).status).toBe(200);
  expect(agent.journal.map(({ call }) => call.type)).toEqual(['note']);
});

describe('a version', () => {
  const versions = ['1.9.0', '1.10.0', '1.10.1-rc.1', '1.11.0-beta.1', '2.0.0-rc.1'];
  beforeAll(async () => {
    const agents = [];
    for (const version of versions) {
      await registerDescriptor(
        gateway.api,
        descriptorOf({ name: 'versioned', version, endpoint: { address: agent.url } }, 'http'),
      );
      agents.push(version);
    }
  });
  const ask = (more: object) => gateway.api.reach({ ability: 'versioned.work', ...more });

  it.each([
    ['^1.2.0', '1.10.0'],
    ['>=1.2.0 <2.0.0', '1.10.0'],
    ['1.x', '1.10.0'],
    ['latest', '1.10.0'],
    ['=1.9.0', '1.9.0'],
    ['1.9.0', '1.9.0'],
    ['v1.9.0', '1.9.0'],
    ['^1.11.0-beta', '1.11.0-beta.1'],
    ['2.0.0-rc.1', '2.0.0-rc.1'],
  ])('%s finds %s', async (version, found) => {
    expect((await ask({ version })).body).toMatchObject({ status: 'completed', agent_version: found });
    expect(agent.journal[0]?.call.version).toBe(found);
  });

  it.each(['v1', '1.2', '01.2.3', '1.2.3.4', '^', '', 'newest', '1.2.3 ||'])('%j is none', async (version) => {
    expect(expectProblem(await ask({ version }), 'invalid_request').errors?.[0]?.pointer).toBe('/version');
  });

  it('that does not exist is not found, with those that do', async () => {
    for (const more of [{ version: '^3.0.0' }, { target_agent: 'versioned#9.9.9' }]) {
      const { diagnosis } = expectProblem(await ask(more), 'version_not_found');
      expect(diagnosis).toMatchObject({
        reason: 'version_mismatch',
        available_versions: expect.arrayContaining(['1.10.0', '1.9.0']),
      });
    }
  });

  it('may stand behind the name of the agent', async () => {
    expect((await gateway.api.reach({ target_agent: 'versioned#1.9.0' })).body.agent_version).toBe('1.9.0');
    expect(
      (await gateway.api.reach({ target_agent: 'versioned#v1.9.0', ability: 'versioned.work' })).body.agent_version,
    ).toBe('1.9.0');
    expectProblem(await gateway.api.reach({ target_agent: 'versioned#1' }), 'invalid_request');
    expectProblem(await gateway.api.reach({ target_agent: 'versioned#' }), 'invalid_request');
  });
});

describe('nobody ready', () => {
  it('is a 503 that says who, in what state, and since when', async () => {
    const idle = await startHttpAgent(gateway.api, { name: 'idle' });
    const { body: agentBody } = await gateway.api.get('/v1/agents/idle');
    expect(agentBody.status).toBe('ready');
    const { body: registration } = await gateway.api.put('/v1/agents/idle/instances/idle-1', {
      version: '1.0.0',
      ttl_sec: 600,
      host: idle.url,
    });
    for (const status of ['draining', 'busy']) {
      await gateway.api.post('/v1/agents/idle/instances/idle-1/heartbeat', {
        epoch: registration.epoch,
        status,
        load: 1,
      });
      // Heartbeats are seen a moment later: nobody waits for that but us.
      await waitFor(status, async () => {
        const { body } = await gateway.api.get('/v1/agents/idle');
        return body.instances[0].status === status;
      });
      const answer = await gateway.api.reach({ ability: idle.ability });
      const problem = expectProblem(answer, 'no_ready_instance');
      expect(problem).toMatchObject({
        retryable: true,
        retry_after_ms: expect.any(Number),
        diagnosis: {
          reason: 'not_ready',
          agents: [{ agent_name: 'idle', agent_version: '1.0.0', status, since: expect.stringMatching(/^\d{4}-/) }],
        },
      });
      expect(Number(answer.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    }
    await gateway.api.post('/v1/agents/idle/instances/idle-1/heartbeat', {
      epoch: registration.epoch,
      status: 'ready',
      load: 0,
    });
    await waitFor('ready', async () => (await gateway.api.get('/v1/agents/idle')).body.instances[0].status === 'ready');
    expect((await gateway.api.reach({ ability: idle.ability })).status).toBe(200);
    await registerDescriptor(gateway.api, descriptorOf({ name: 'unheard' }, 'http'));
    expect(
      expectProblem(await gateway.api.reach({ ability: 'unheard.work' }), 'no_ready_instance').diagnosis,
    ).toMatchObject({ reason: 'never_registered', agents: [{ agent_name: 'unheard', since: null }] });
    await idle.close();
  });
});

import { ReachError } from '../protocol/reach-error';
import { readCloudEvent } from './cloud-events';

const REQUIRED = { specversion: '1.0', id: '1', source: '/shop', type: 'order.created' };
const ATTRIBUTES = { id: '1', source: '/shop', type: 'order.created' };

const structured = (event: unknown, contentType = 'application/cloudevents+json') =>
  readCloudEvent({
    headers: { 'content-type': contentType },
    body: Buffer.from(typeof event === 'string' ? event : JSON.stringify(event)),
  });

const binary = (headers: Record<string, string>, body: string | Buffer = '') =>
  readCloudEvent({
    headers: { 'ce-specversion': '1.0', 'ce-id': '1', 'ce-source': '/shop', 'ce-type': 'order.created', ...headers },
    body: Buffer.from(body),
  });

function refusal(run: () => unknown): ReachError {
  try {
    run();
  } catch (caught) {
    if (caught instanceof ReachError) return caught;
    throw caught;
  }
  throw new Error('nothing was refused');
}

describe('data becomes a payload', () => {
  it.each<[string, object, object]>([
    ['an object', { data: { order: 1 } }, { order: 1 }],
    ['a list', { data: [1, 2] }, { data: [1, 2] }],
    ['text', { data: 'hello', datacontenttype: 'text/plain' }, { data: 'hello' }],
    ['a number', { data: 7 }, { data: 7 }],
    ['false', { data: false }, { data: false }],
    ['null', { data: null }, {}],
    ['nothing', {}, {}],
    ['bytes', { data_base64: 'AAEC' }, { data_base64: 'AAEC' }],
  ])('%s, structured', (_what, more, payload) => {
    expect(structured({ ...REQUIRED, ...more }).payload).toEqual(payload);
  });

  it.each<[string, string, string | Buffer, object]>([
    ['an object', 'application/json', '{"order":1}', { order: 1 }],
    ['an object of a type of its own', 'application/vnd.order+json; charset=utf-8', '{"order":1}', { order: 1 }],
    ['a list', 'application/json', '[1]', { data: [1] }],
    ['text', 'text/plain', '你好', { data: '你好' }],
    ['bytes', 'application/octet-stream', Buffer.from([0, 1, 2]), { data_base64: 'AAEC' }],
    ['XML', 'application/xml', '<a/>', { data_base64: 'PGEvPg==' }],
    ['nothing', 'application/json', '', {}],
  ])('%s, binary', (_what, contentType, body, payload) => {
    const event = binary({ 'content-type': contentType }, body);
    expect(event).toEqual({ payload, attributes: { ...ATTRIBUTES, datacontenttype: contentType } });
  });
});

it('takes every attribute as text, and null as absent', () => {
  const more = { subject: 'a', time: '2026-05-04T08:30:00.5+02:00', priority: 3, express: true, comment: null };
  expect(structured({ ...REQUIRED, ...more }).attributes).toEqual({
    ...ATTRIBUTES,
    subject: 'a',
    time: '2026-05-04T08:30:00.5+02:00',
    priority: '3',
    express: 'true',
  });
});

it('reads header values as the percent-encoded UTF-8 that they are', () => {
  const { attributes } = binary({ 'ce-subject': 'Euro%20%E2%82%AC', 'ce-discount': '100%' });
  expect(attributes).toMatchObject({ subject: 'Euro €', discount: '100%' });
});

it.each<[string, object, string]>([
  ['no id', { id: undefined }, '/id'],
  ['an empty id', { id: '' }, '/id'],
  ['an id that is a number', { id: 7 }, '/id'],
  ['no source', { source: undefined }, '/source'],
  ['a source that is no URI reference', { source: 'a b<>' }, '/source'],
  ['no type', { type: undefined }, '/type'],
  ['another version', { specversion: '0.3' }, '/specversion'],
  ['a time that is none', { time: 'yesterday' }, '/time'],
  ['an attribute with capitals', { orderId: 'x' }, '/orderId'],
  ['an attribute that is an object', { order: { id: 1 } }, '/order'],
  ['an attribute with a fraction', { weight: 1.5 }, '/weight'],
  ['an attribute beyond 32 bits', { count: 2_147_483_648 }, '/count'],
  ['a very long id', { id: 'x'.repeat(256) }, '/id'],
  ['control characters', { subject: 'a\u0000b' }, '/subject'],
  ['data twice', { data: 1, data_base64: 'AA==' }, '/data'],
  ['bytes that are none', { data_base64: '%%%' }, '/data_base64'],
])('refuses %s', (_what, more, pointer) => {
  const error = refusal(() => structured({ ...REQUIRED, ...more }));
  expect(error.code).toBe('invalid_request');
  expect(error.options.errors?.map((one) => one.pointer)).toContain(pointer);
});

it.each<[string, string, string]>([
  ['a key that appears twice', '{"specversion":"1.0","id":"1","id":"2","source":"/","type":"x"}', 'duplicate_key'],
  [
    'a number that a double cannot hold',
    JSON.stringify(REQUIRED).replace('}', ',"data":9007199254740993}'),
    'invalid_request',
  ],
  ['reserved keys', JSON.stringify(REQUIRED).replace('}', ',"data":{"__proto__":1}}'), 'forbidden_key'],
  ['depth', JSON.stringify(REQUIRED).replace('}', `,"data":${'['.repeat(80)}${']'.repeat(80)}}`), 'input_too_deep'],
  ['a list', '[]', 'invalid_request'],
  ['an empty body', '', 'invalid_request'],
])('is as strict with %s as everywhere', (_what, body, code) => {
  expect(refusal(() => structured(body)).code).toBe(code);
});

it.each<[string, () => unknown]>([
  ['a batch', () => structured('[]', 'application/cloudevents-batch+json')],
  ['plain JSON', () => structured(REQUIRED, 'application/json')],
  ['another charset', () => structured(REQUIRED, 'application/cloudevents+json; charset=latin1')],
  ['data without a content type', () => binary({}, 'x')],
])('says 415 to %s, and what to send', (_what, run) => {
  const error = refusal(run);
  expect(error.code).toBe('unsupported_media_type');
  expect(error.options.errors?.[0]?.fix).toMatch(/\S/);
});

it('refuses binary events that miss an attribute or carry bad text', () => {
  expect(
    refusal(() => readCloudEvent({ headers: { 'ce-id': '1' }, body: new Uint8Array() })).options.errors,
  ).toHaveLength(3);
  expect(refusal(() => binary({ 'content-type': 'text/plain' }, Buffer.from([0xff]))).code).toBe('invalid_request');
  expect(refusal(() => binary({ 'ce-data': 'x' })).code).toBe('invalid_request');
});

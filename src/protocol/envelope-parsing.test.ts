import fc from 'fast-check';
import type { EnvelopeInput } from './envelope';
import { MAX_TIMEOUT_MS } from './limits';
import type { ReachError } from './reach-error';
import { completeEnvelope, parseEnvelope, parseTimeoutHeader, type EnvelopeHeaders } from './validation';

const base = { ability: 'refund', payload: { ticket_id: 'T-1' } };

function findings(body: unknown, headers?: EnvelopeHeaders): { code: string; pointers: string[]; message: string } {
  try {
    parseEnvelope(body, headers);
  } catch (error) {
    const { code, options, message } = error as ReachError;
    return { code, pointers: (options.errors ?? []).map(({ pointer }) => pointer), message };
  }
  throw new Error('nothing was thrown');
}

describe('parseEnvelope', () => {
  it('fills the defaults of single fields', () => {
    expect(parseEnvelope(base)).toEqual({
      ...base,
      type: 'task',
      mode: 'sync',
      delivery_semantics: 'at_least_once',
      group: 'default',
      max_total_retries: 10,
      metadata: {},
    });
  });

  it('lists everything that is wrong at once', () => {
    const body = { abilty: 'x', payload: [], timeout_ms: '5000', version: 'v1', mode: 'synch', max_total_retries: -1 };
    const { code, pointers, message } = findings(body);
    expect(code).toBe('invalid_request');
    expect(pointers.toSorted()).toEqual([
      '/ability',
      '/abilty',
      '/max_total_retries',
      '/mode',
      '/payload',
      '/timeout_ms',
      '/version',
    ]);
    expect(message).toContain('/timeout_ms must be a number (got text "5000")');
  });

  it.each([
    ['timeoutMs', 'did you mean timeout_ms?'],
    ['idempotencyKey', 'did you mean idempotency_key?'],
    ['Payload', 'did you mean payload?'],
  ])('unknown key %s: %s', (key, fix) => {
    expect(findings({ ...base, [key]: 1 }).message).toContain(fix);
  });

  it.each([0, -1, 0.5, '5000', null, 2_147_483_648 * 1_000, 4_294_967_296, 9_007_199_254_740_991, true, []])(
    'timeout_ms %j → 400 (T05)',
    (timeout) => {
      expect(findings({ ...base, timeout_ms: timeout })).toMatchObject({
        code: 'invalid_request',
        pointers: ['/timeout_ms'],
      });
    },
  );

  it.each([1, 5_000, MAX_TIMEOUT_MS])('timeout_ms %i is taken', (timeout) => {
    expect(parseEnvelope({ ...base, timeout_ms: timeout }).timeout_ms).toBe(timeout);
  });

  it.each(['v1', '1.2', '01.2.3', '1.2.3.4', '^', ''])('version %j → 400 at /version (E03)', (version) => {
    expect(findings({ ...base, version })).toMatchObject({ code: 'invalid_request', pointers: ['/version'] });
  });

  it.each(['', 'k'.repeat(257), 'a\u0000b'])('idempotency_key %j → 400 (W02)', (key) => {
    expect(findings({ ...base, idempotency_key: key }).pointers).toEqual(['/idempotency_key']);
    expect(findings(base, { idempotencyKey: key }).pointers).toEqual(['/idempotency_key']);
  });

  it.each(['k', 'k'.repeat(256), 'with spaces', '🧾'])('idempotency_key %j is taken', (key) => {
    expect(parseEnvelope({ ...base, idempotency_key: key }).idempotency_key).toBe(key);
  });

  describe('headers', () => {
    it('say the same as fields', () => {
      expect(parseEnvelope(base, { idempotencyKey: 'k1', timeoutMs: '5000' })).toMatchObject({
        idempotency_key: 'k1',
        timeout_ms: 5_000,
      });
      expect(
        parseEnvelope(
          { ...base, idempotency_key: 'k1', timeout_ms: 5_000 },
          { idempotencyKey: 'k1', timeoutMs: '5000' },
        ),
      ).toMatchObject({ timeout_ms: 5_000 });
    });

    it('that contradict the body → 400 for each', () => {
      expect(
        findings({ ...base, idempotency_key: 'a', timeout_ms: 1 }, { idempotencyKey: 'b', timeoutMs: '2' }).pointers,
      ).toEqual(['/idempotency_key', '/timeout_ms']);
      expect(findings({ ...base, timeout_ms: null }, { timeoutMs: '2' }).pointers).toEqual(['/timeout_ms']);
    });

    it.each(['0', '-1', '+5', '1e3', '0x10', '5s', '5.0', ' 5', '05', '', '604800001', '99999999999999999999', '٥'])(
      'X-Reach-Timeout-Ms %j → 400',
      (timeoutMs) => {
        expect(findings(base, { timeoutMs })).toMatchObject({ code: 'invalid_request', pointers: ['/timeout_ms'] });
      },
    );

    it('a UTF-8 key in a header is the same key as in the body', () => {
      const asNodeReadsIt = Buffer.from('票🧾').toString('latin1');
      expect(
        parseEnvelope({ ...base, idempotency_key: '票🧾' }, { idempotencyKey: asNodeReadsIt }).idempotency_key,
      ).toBe('票🧾');
    });

    it('timeout header is strict decimal (property)', () => {
      fc.assert(
        fc.property(fc.oneof(fc.string(), fc.integer().map(String), fc.double().map(String)), (text) => {
          const parsed = parseTimeoutHeader(text);
          if (parsed !== null)
            expect({ text: String(parsed), ok: parsed >= 1 && parsed <= MAX_TIMEOUT_MS }).toEqual({ text, ok: true });
        }),
      );
    });
  });

  it.each([[[]], [null], ['text'], [3]])('body %j → 400', (body) => {
    expect(findings(body)).toMatchObject({
      code: 'invalid_request',
      pointers: ['', ...(Array.isArray(body) ? ['/ability', '/payload'] : [])],
    });
  });

  it('needs a target, and a key for exactly_once', () => {
    expect(findings({ payload: {}, delivery_semantics: 'exactly_once' }).pointers).toEqual([
      '/ability',
      '/idempotency_key',
    ]);
    expect(
      parseEnvelope({ ...base, delivery_semantics: 'exactly_once' }, { idempotencyKey: 'k' }).idempotency_key,
    ).toBe('k');
  });

  it.each(['a#1', 'a#', '#1.0.0', 'a#v1'])('target_agent %j → 400', (target) => {
    expect(findings({ target_agent: target, payload: {} }).pointers).toEqual(['/target_agent']);
  });

  it('refuses what strict JSON refuses when the body never was text', () => {
    expect(findings({ ...base, payload: { a: NaN } }).pointers).toEqual(['/payload/a']);
    expect(findings(JSON.parse('{"ability":"x","payload":{"__proto__":1}}'))).toMatchObject({ code: 'forbidden_key' });
  });

  it('metadata: flat strings, inherited names are data (B05)', () => {
    expect(parseEnvelope({ ...base, metadata: { constructor: 'x', toString: 'y' } }).metadata).toEqual({
      constructor: 'x',
      toString: 'y',
    });
    expect(findings({ ...base, metadata: { a: { b: 1 } } }).pointers).toEqual(['/metadata/a']);
  });
});

describe('completeEnvelope (R2)', () => {
  const context = { principal: 'alice', newMessageId: () => 'm-new' };
  const input = (extra: Partial<EnvelopeInput> = {}) => ({ ...parseEnvelope(base), ...extra });

  it('fills deadline by mode, ids and source', () => {
    expect(completeEnvelope(input(), context)).toMatchObject({
      timeout_ms: 10_000,
      message_id: 'm-new',
      source_agent: 'alice',
      idempotency_key: 'm-new',
      key_origin: 'message',
    });
    expect(completeEnvelope(input({ mode: 'async' }), context).timeout_ms).toBe(86_400_000);
    expect(completeEnvelope(input({ timeout_ms: 5, message_id: 'm1', source_agent: 'bob' }), context)).toMatchObject({
      timeout_ms: 5,
      message_id: 'm1',
      source_agent: 'bob',
      idempotency_key: 'm1',
    });
  });

  it.each([
    ['text', { ticket_id: 'T-1' }, 'T-1', 'payload'],
    ['a number', { ticket_id: 42 }, '42', 'payload'],
    ['empty text', { ticket_id: '' }, 'm-new', 'message'],
    ['nothing', {}, 'm-new', 'message'],
    ['an object', { ticket_id: {} }, 'm-new', 'message'],
    ['null', { ticket_id: null }, 'm-new', 'message'],
  ] as const)('idempotency_from that finds %s', (_, payload, key, origin) => {
    const envelope = completeEnvelope(input({ payload }), {
      ...context,
      capability: { idempotency_from: '/ticket_id' },
    });
    expect(envelope).toMatchObject({ idempotency_key: key, key_origin: origin });
  });

  it("the caller's key wins; inherited names are no value; an overlong value is hashed, stably", () => {
    expect(
      completeEnvelope(input({ idempotency_key: 'mine' }), {
        ...context,
        capability: { idempotency_from: '/ticket_id' },
      }),
    ).toMatchObject({ idempotency_key: 'mine', key_origin: 'caller' });
    expect(completeEnvelope(input(), { ...context, capability: { idempotency_from: '/toString' } }).key_origin).toBe(
      'message',
    );
    const long = () =>
      completeEnvelope(input({ payload: { ticket_id: 'x'.repeat(300) } }), {
        ...context,
        capability: { idempotency_from: '/ticket_id' },
      }).idempotency_key;
    expect(long()).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(long()).toBe(long());
  });
});

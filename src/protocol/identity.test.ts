import { createHash } from 'node:crypto';
import fc from 'fast-check';
import type { Envelope } from './envelope';
import { canonicalDigest, canonicalJson, fingerprint, reachId, reachIdOf, reachIdOfMessage } from './identity';
import type { Json, JsonObject } from './shapes';

const envelope: Envelope = {
  ability: 'refund',
  payload: { b: 1, a: { d: [1, 2], c: null } },
  type: 'task',
  mode: 'sync',
  delivery_semantics: 'at_least_once',
  group: 'default',
  max_total_retries: 10,
  metadata: {},
  timeout_ms: 10_000,
  idempotency_key: 'k1',
  key_origin: 'caller',
  source_agent: 'alice',
  message_id: 'm1',
};

describe('reachId', () => {
  it('is short, safe in URLs, and stable over releases', () => {
    expect(reachId({ tenant: 'default', target: 'refund', key: 'k1' })).toBe('r-iyoo55kfjdzxxfmo4jzeie7cuj4rkqst');
    expect(reachId({ tenant: 'a', target: '退款 /#?', key: '🧾' })).toMatch(/^r-[a-z2-7]{32}$/);
  });

  it('keeps delimiters apart (W04)', () => {
    expect(reachId({ tenant: 'a:b', target: 't', key: 'c' })).not.toBe(
      reachId({ tenant: 'a', target: 't', key: 'b:c' }),
    );
    expect(reachId({ tenant: 'a', target: '1:b', key: 'c' })).not.toBe(
      reachId({ tenant: 'a', target: '1', key: 'b:c' }),
    );
  });

  it('is injective over its parts (property)', () => {
    const part = fc.stringMatching(/^[a:1]{0,4}$/);
    const parts = fc.record({ tenant: part, target: part, key: part });
    fc.assert(
      fc.property(parts, parts, (a, b) => {
        expect(reachId(a) === reachId(b)).toBe(canonicalJson(a) === canonicalJson(b));
        expect(reachIdOfMessage({ tenant: a.tenant, source: a.target, messageId: a.key })).not.toBe(reachId(a));
      }),
    );
  });

  it('follows the key, or source and message id where there was none', () => {
    expect(reachIdOf({ ...envelope, message_id: 'm2', source_agent: 'bob' }, 't')).toBe(reachIdOf(envelope, 't'));
    expect(reachIdOf({ ...envelope, ability: 'other' }, 't')).not.toBe(reachIdOf(envelope, 't'));
    expect(reachIdOf({ ...envelope, target_agent: 'x' }, 't')).not.toBe(reachIdOf(envelope, 't'));
    expect(reachIdOf(envelope, 'u')).not.toBe(reachIdOf(envelope, 't'));
    const unkeyed: Envelope = { ...envelope, key_origin: 'message', idempotency_key: 'm1' };
    expect(reachIdOf({ ...unkeyed, source_agent: 'bob' }, 't')).not.toBe(reachIdOf(unkeyed, 't'));
    expect(reachIdOf(unkeyed, 't')).toBe(reachIdOf(unkeyed, 't'));
    expect(reachIdOf({ ...envelope, idempotency_key: 'm1' }, 't')).not.toBe(reachIdOf(unkeyed, 't'));
  });
});

describe('the id of a nested reach', () => {
  const [one, other] = [`r-${'a'.repeat(32)}`, `r-${'b'.repeat(32)}`];
  const origins = ['caller', 'payload', 'message'] as const;

  it.each(origins)('has a scope of its own, the reach that it is made for (%s)', (key_origin) => {
    const asked = { ...envelope, key_origin };
    const ids = [reachIdOf(asked, 't'), reachIdOf(asked, 't', one), reachIdOf(asked, 't', other)];
    expect(new Set(ids).size).toBe(3);
    expect(reachIdOf(asked, 't', one)).toBe(reachIdOf({ ...asked }, 't', one));
    expect(ids[1]).toMatch(/^r-[a-z2-7]{32}$/);
    expect(reachIdOf(asked, 'u', one)).not.toBe(ids[1]);
  });

  it('follows the key, whoever of the agents of the call sends it', () => {
    const again = { ...envelope, source_agent: 'the next-best', message_id: 'm2' };
    expect(reachIdOf(again, 't', one)).toBe(reachIdOf(envelope, 't', one));
    expect(reachIdOf({ ...envelope, idempotency_key: 'k2' }, 't', one)).not.toBe(reachIdOf(envelope, 't', one));
  });
});

describe('fingerprint', () => {
  it('ignores deadline, message id, key and key order', () => {
    const other = {
      ...envelope,
      payload: { a: { c: null, d: [1, 2] }, b: 1 },
      timeout_ms: 5,
      message_id: 'm9',
      idempotency_key: 'z',
      key_origin: 'payload' as const,
    };
    expect(fingerprint(other)).toBe(fingerprint(envelope));
  });

  it.each<[string, Partial<Envelope>]>([
    ['payload', { payload: { b: 1, a: { d: [2, 1], c: null } } }],
    ['ability', { ability: 'x' }],
    ['source', { source_agent: 'bob' }],
    ['semantics', { delivery_semantics: 'at_most_once' }],
    ['metadata', { metadata: { a: 'b' } }],
    ['context', { context_id: 'c' }],
  ])('sees another %s', (_, change) => {
    expect(fingerprint({ ...envelope, ...change })).not.toBe(fingerprint(envelope));
  });
});

describe('canonicalJson', () => {
  it('does not depend on key order and loses nothing (property)', () => {
    const shuffle = (value: Json): Json => {
      if (value === null || typeof value !== 'object') return value;
      if (Array.isArray(value)) return value.map(shuffle);
      return Object.fromEntries(
        Object.entries(value)
          .reverse()
          .map(([key, item]) => [key, shuffle(item)]),
      );
    };
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        fc.pre(!JSON.stringify(value).includes('__proto__'));
        expect(canonicalJson(shuffle(value as Json))).toBe(canonicalJson(value as Json));
        expect(JSON.parse(canonicalJson(value as Json))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('writes -0 as 0 and leaves undefined members out', () => {
    expect(canonicalJson({ b: -0, a: undefined } as unknown as Json)).toBe('{"b":0}');
  });
});

describe('the digest of canonical JSON that is written out in pieces', () => {
  it('is that of the whole text', () => {
    const long = fc.string({ unit: 'binary', maxLength: 20 }).map((text) => `${text}🧾`.repeat(7_000));
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.oneof(fc.jsonValue(), long)), (value) => {
        const plain = JSON.parse(JSON.stringify(value)) as JsonObject;
        const text = canonicalJson(plain);
        const sha256 = createHash('sha256').update(text).digest('hex');
        expect(canonicalDigest(plain)).toEqual({ sha256, bytes: Buffer.byteLength(text) });
      }),
    );
  });
});

describe('the fingerprint of a payload that was read elsewhere', () => {
  const small = { sha256: 'a'.repeat(64), bytes: 1_048_576 };
  const large = { sha256: 'a'.repeat(64), bytes: 1_048_577 };
  const payload_ref = `sha256:${'b'.repeat(64)}:300000` as const;

  it('is that of the payload itself up to 1 MiB, however it came', () => {
    expect(fingerprint({ ...envelope, payload_ref }, small)).toBe(fingerprint(envelope));
  });

  it('is that of its content over 1 MiB, whatever outline of it is here', () => {
    const known = fingerprint(envelope, large);
    expect(known).not.toBe(fingerprint(envelope));
    expect(fingerprint({ ...envelope, payload: {}, payload_ref }, large)).toBe(known);
    expect(fingerprint(envelope, { ...large, sha256: 'c'.repeat(64) })).not.toBe(known);
    expect(fingerprint({ ...envelope, ability: 'other' }, large)).not.toBe(known);
  });
});

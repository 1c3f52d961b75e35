import fc from 'fast-check';
import { findFault } from './json-faults';
import { isExactNumber } from './json-rules';
import { ReachError } from './reach-error';
import { assertPlainJson, parseJsonStrict } from './strict-json';

function failure(run: () => unknown): ReachError {
  try {
    run();
  } catch (error) {
    if (error instanceof ReachError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

const refusal = (input: string | Uint8Array) => {
  const { code, options, message } = failure(() => parseJsonStrict(input));
  return { code, pointer: options.errors?.[0]?.pointer, message, details: options.extra?.details };
};

const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);

describe('parseJsonStrict', () => {
  it('reads what JSON.parse reads, for any JSON value (property)', () => {
    const text = fc.json({ maxDepth: 6, noUnicodeString: false } as fc.JsonSharedConstraints);
    fc.assert(
      fc.property(text, (json) => {
        fc.pre(!json.includes('__proto__') && !json.includes('constructor'));
        expect(parseJsonStrict(json)).toEqual(JSON.parse(json));
        expect(parseJsonStrict(Buffer.from(json))).toEqual(JSON.parse(json));
      }),
    );
  });

  it('agrees with the slow reader on what is clean (property)', () => {
    const key = fc.constantFrom('a', 'b', '__proto__', 'constructor', 'prototype', '\\u0061', '\\ud800');
    const number = fc.constantFrom('1', '0.1', '9007199254740993', '1e400', '-0', '1E2', '12345678901234567');
    const { value } = fc.letrec<{ value: string }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        number,
        fc.constantFrom('"x"', '"\\ud83d\\ude00"', '"\\ud83d"', 'null', 'true', '"\\\\ud800"', '"\\""'),
        fc.array(tie('value'), { maxLength: 3 }).map((items) => `[ ${items.join(' , ')} ]`),
        fc
          .array(fc.tuple(key, tie('value')), { maxLength: 3 })
          .map((pairs) => `{${pairs.map(([k, v]) => `"${k}" : ${v}`).join(',')}}`),
      ),
    }));
    fc.assert(
      fc.property(value, (text) => {
        const fault = findFault(text, 3);
        let caught: unknown = null;
        try {
          parseJsonStrict(text, { maxDepth: 3 });
        } catch (error) {
          caught = error;
        }
        expect({ text, refused: caught !== null }).toEqual({ text, refused: fault !== null });
        if (fault) expect((caught as ReachError).options.errors?.[0]?.pointer).toBe(fault.pointer);
      }),
      { numRuns: 500 },
    );
  });

  describe('duplicate keys (B02)', () => {
    it('names the key and its place', () => {
      expect(refusal('{"ability":"echo","payload":{},"idempotency_key":"A","idempotency_key":"B"}')).toMatchObject({
        code: 'duplicate_key',
        pointer: '/idempotency_key',
        details: { key: 'idempotency_key' },
      });
    });

    it('sees through escapes and finds nested ones', () => {
      expect(refusal('{"a":[1,{"b/c":1,"b\\u002fc":2}]}')).toMatchObject({
        code: 'duplicate_key',
        pointer: '/a/1/b~1c',
      });
    });

    it('allows the same key in different objects', () => {
      expect(parseJsonStrict('[{"a":1},{"a":{"a":2}}]')).toEqual([{ a: 1 }, { a: { a: 2 } }]);
    });
  });

  describe('depth (B04)', () => {
    it('takes 64 and refuses 65 with the limit', () => {
      expect(parseJsonStrict(nested(64))).toBeDefined();
      expect(refusal(nested(65))).toMatchObject({ code: 'input_too_deep', details: { limit: 64 } });
    });

    it.each([
      ['arrays', nested(100_000)],
      ['objects', '{"a":'.repeat(100_000) + '1' + '}'.repeat(100_000)],
    ])('does not overflow the stack on 100,000 %s', (_, text) => {
      expect(refusal(text).code).toBe('input_too_deep');
    });

    it('an unfinished deep document is a syntax error', () => {
      expect(refusal('['.repeat(100_000)).code).toBe('invalid_request');
    });
  });

  describe('reserved keys (B06)', () => {
    it.each([
      ['{"metadata":{"__proto__":{"role":"admin"},"n":1}}', '/metadata/__proto__'],
      ['{"__proto__":1}', '/__proto__'],
      ['{"\\u005f_proto__":1}', '/__proto__'],
      ['{"a":{"constructor":{"prototype":{"role":"admin"}}}}', '/a/constructor/prototype'],
    ])('%s → forbidden_key at %s', (text, pointer) => {
      expect(refusal(text)).toMatchObject({ code: 'forbidden_key', pointer });
      expect(({} as { role?: string }).role).toBeUndefined();
    });

    it.each([
      '{"constructor":"Hochtief AG"}',
      '{"constructor":{"name":"x"}}',
      '{"prototype":{"a":1}}',
      '{"constructor":[{"prototype":1}]}',
    ])('%s is data', (text) => {
      expect(parseJsonStrict(text)).toEqual(JSON.parse(text));
    });
  });

  describe('exact numbers (T05, M)', () => {
    it.each([
      ['9007199254740993', false],
      ['-9007199254740993', false],
      ['1e400', false],
      ['-1e400', false],
      ['1e-400', false],
      ['12345678901234567890', false],
      ['2305843009213693950', false],
      ['2305843009213693952', false], // exact, but written back as 2305843009213694000
      ['3.14159265358979323846', false],
      ['9007199254740991', true],
      ['9007199254740992', true],
      ['9007199254740994', true],
      ['0.1', true],
      ['0.30000000000000004', true],
      ['0.10000000000000001', true], // %.17g of the same double
      ['1e23', true],
      ['100000000000000000000000', true],
      ['5e-324', true],
      ['1.7976931348623157e308', true],
      ['-0', true],
      ['0e999', true],
      ['0.000000000000000000000', true],
    ])('%s → %s', (literal, isExact) => {
      expect(isExactNumber(literal)).toBe(isExact);
      if (isExact) expect(parseJsonStrict(`[${literal}]`)).toEqual([Number(literal)]);
      else expect(refusal(`{"a":[${literal}]}`)).toMatchObject({ code: 'invalid_request', pointer: '/a/0' });
    });

    it('takes every double in the form JSON.stringify and toPrecision(17) print it (property)', () => {
      fc.assert(
        fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
          expect(isExactNumber(JSON.stringify(value))).toBe(true);
          // As a whole number of 17 digits it would be sent on with other digits, so that form is refused.
          const digits = value.toPrecision(17);
          if (/[.e]/.test(digits)) expect(isExactNumber(digits)).toBe(true);
        }),
      );
    });

    it('takes an integer only when it is written back digit for digit (property)', () => {
      fc.assert(
        fc.property(fc.bigInt({ min: 0n, max: 10n ** 20n }), (value) => {
          const literal = value.toString();
          expect(isExactNumber(literal)).toBe(JSON.stringify(JSON.parse(literal)) === literal);
        }),
      );
    });
  });

  describe('encoding (B07)', () => {
    const call = '{"ability":"echo","payload":{"t":"发票🧾"}}';
    it('takes a BOM, in bytes and in text', () => {
      const plain = parseJsonStrict(Buffer.from(call));
      expect(parseJsonStrict(Buffer.from(`\ufeff${call}`))).toEqual(plain);
      expect(parseJsonStrict(`\ufeff${call}`)).toEqual(plain);
    });

    it('refuses invalid UTF-8 instead of altering it', () => {
      const bytes = Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]);
      expect(refusal(bytes)).toMatchObject({
        code: 'invalid_request',
        message: expect.stringContaining('UTF-8') as string,
      });
    });

    it('refuses UTF-16', () => {
      expect(refusal(Buffer.from(`\ufeff${call}`, 'utf16le')).code).toBe('invalid_request');
    });

    it.each([
      ['{"a":["\\ud800"]}', '/a/0'],
      ['{"a":"x\\uDFFFy"}', '/a'],
      ['{"\\ud800":1}', '/\ud800'],
    ])('lone surrogate in %s → 400', (text, pointer) => {
      expect(refusal(text)).toMatchObject({ code: 'invalid_request', pointer });
    });

    it('takes whole pairs, escaped or not, and an escaped backslash before ud', () => {
      expect(parseJsonStrict('["\\ud83e\\uddfe","🧾","\\\\ud800"]')).toEqual(['🧾', '🧾', '\\ud800']);
    });
  });

  it.each(['', '  ', '{', '[1,]', '{"a":}', 'nope', '{"a":1}}', "{'a':1}"])('syntax: %j → 400', (text) => {
    expect(refusal(text).code).toBe('invalid_request');
  });

  it('does not quote the document in a syntax error', () => {
    expect(refusal('{"password":"hunter2" oops').message).not.toContain('hunter2');
    expect(refusal('hunter2').message).not.toContain('hunter2');
  });

  it('reports under the code asked for', () => {
    expect(failure(() => parseJsonStrict('[', { errorCode: 'invalid_descriptor' })).code).toBe('invalid_descriptor');
    expect(failure(() => parseJsonStrict(nested(65), { errorCode: 'agent_protocol_error' })).code).toBe(
      'input_too_deep',
    );
    expect(
      failure(() => parseJsonStrict(nested(65), { errorCode: 'agent_protocol_error', ownCodes: false })).code,
    ).toBe('agent_protocol_error');
  });

  it('stays within a small multiple of JSON.parse', () => {
    const bytes = Buffer.from(
      JSON.stringify(Array.from({ length: 5_000 }, (_, i) => ({ id: i, text: `hello world ${i}` }))),
    );
    const cpuMs = (run: () => unknown) => {
      const start = process.cpuUsage();
      for (let round = 0; round < 20; round++) run();
      return process.cpuUsage(start).user / 1_000;
    };
    cpuMs(() => parseJsonStrict(bytes)); // warm up
    expect(cpuMs(() => parseJsonStrict(bytes))).toBeLessThan(10 * cpuMs(() => JSON.parse(bytes.toString())) + 20);
  });
});

describe('assertPlainJson', () => {
  const refused = (value: unknown) => {
    const { code, options } = failure(() => assertPlainJson(value));
    return { code, pointer: options.errors?.[0]?.pointer };
  };

  it('takes every JSON value (property)', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        const text = JSON.stringify(value);
        fc.pre(!text.includes('__proto__') && !text.includes('constructor'));
        expect(() => assertPlainJson(value)).not.toThrow();
      }),
    );
  });

  it.each<[string, unknown, string]>([
    ['undefined', { a: undefined }, '/a'],
    ['NaN', { a: [NaN] }, '/a/0'],
    ['Infinity', [Infinity], '/0'],
    ['a bigint', { a: 1n }, '/a'],
    ['a function', { a: () => 1 }, '/a'],
    ['a date', { a: new Date() }, '/a'],
    ['a map', new Map(), ''],
    ['a buffer', { a: Buffer.from('x') }, '/a'],
    ['a hole', [1, , 2], '/1'],
    ['a lone surrogate', { a: '\ud800' }, '/a'],
  ])('refuses %s', (_, value, pointer) => {
    expect(refused(value)).toEqual({ code: 'invalid_request', pointer });
  });

  it('refuses reserved keys', () => {
    expect(refused(JSON.parse('{"a":{"__proto__":1}}'))).toEqual({ code: 'forbidden_key', pointer: '/a/__proto__' });
    expect(refused({ constructor: { prototype: 1 } })).toEqual({
      code: 'forbidden_key',
      pointer: '/constructor/prototype',
    });
  });

  it('refuses depth and cycles without overflowing the stack', () => {
    const cycle: unknown[] = [];
    cycle.push(cycle);
    expect(refused(cycle).code).toBe('input_too_deep');
    expect(refused(JSON.parse(nested(100_000))).code).toBe('input_too_deep');
    expect(refused(JSON.parse(nested(65))).code).toBe('input_too_deep');
    expect(() => assertPlainJson(JSON.parse(nested(64)))).not.toThrow();
  });

  it('refuses shared references that expand without end, fast', () => {
    let bomb: unknown = 'x';
    for (let level = 0; level < 40; level++) bomb = [bomb, bomb];
    expect(refused(bomb).code).toBe('payload_too_large');
  });

  it('takes objects without a prototype', () => {
    expect(() => assertPlainJson(Object.assign(Object.create(null) as object, { a: 1 }))).not.toThrow();
  });
});

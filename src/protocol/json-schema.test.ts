import { compileSchema, routingText, validatePayload, type JsonSchema } from './json-schema';
import type { Json, JsonObject } from './shapes';

const codeOf = (run: () => unknown): string | number => {
  try {
    const answer = run();
    return Array.isArray(answer) ? answer.length : 'ok';
  } catch (error) {
    return (error as { code: string }).code;
  }
};

describe('validatePayload', () => {
  it('finds everything, with pointers and what was got', () => {
    const schema: JsonSchema = {
      type: 'object',
      required: ['a', 'b'],
      properties: {
        a: { type: 'integer' },
        'x/y': { enum: ['p', 'q'] },
        list: { type: 'array', items: { type: 'string' } },
      },
      additionalProperties: false,
    };
    expect(validatePayload(schema, { a: 'one', 'x/y': 'r', list: ['k', 2], lst: 1 })).toEqual([
      { pointer: '/b', message: 'is missing' },
      { pointer: '/lst', message: 'is not a known key', fix: 'did you mean list?' },
      { pointer: '/a', message: 'must be integer (got text "one")' },
      { pointer: '/x~1y', message: 'must be one of ["p","q"] (got text "r")' },
      { pointer: '/list/1', message: 'must be string (got number 2)' },
    ]);
    expect(validatePayload(schema, { a: 1, b: null } as JsonObject)).toEqual([
      { pointer: '/b', message: 'is not a known key' },
    ]);
  });

  it.each(['toString', 'constructor', 'hasOwnProperty'])('inherited %s is not there (B05)', (name) => {
    expect(validatePayload({ required: [name] }, {})).toEqual([{ pointer: `/${name}`, message: 'is missing' }]);
    expect(validatePayload({ properties: { [name]: { type: 'string' } }, additionalProperties: false }, {})).toEqual(
      [],
    );
    expect(validatePayload({ additionalProperties: false }, { [name]: 1 })).toHaveLength(1);
  });

  it('changes neither payload nor schema: defaults and coercion are off', () => {
    const payload = { n: '1' };
    const schema: JsonSchema = {
      properties: { n: { type: ['number', 'string'] }, lang: { type: 'string', default: 'zh_CN' } },
    };
    const before = JSON.stringify([payload, schema]);
    expect(validatePayload(schema, payload)).toEqual([]);
    expect(JSON.stringify([payload, schema])).toBe(before);
    expect(validatePayload({ properties: { n: { type: 'number' } } }, payload)).toHaveLength(1);
  });

  it.each<[string, JsonSchema, Json, number]>([
    ['required without properties', { required: ['a'] }, { a: 1 }, 0],
    ['unknown x- keywords', { 'x-anything': { y: 1 }, type: 'object' }, {}, 0],
    ['true', true, [], 0],
    ['false', false, {}, 1],
    ['prefixItems', { prefixItems: [{ type: 'string' }], items: false }, ['a', 1], 1],
    [
      'unevaluatedProperties',
      { allOf: [{ properties: { a: true } }], unevaluatedProperties: false },
      { a: 1, b: 2 },
      1,
    ],
    ['dependentRequired', { dependentRequired: { a: ['b'] } }, { a: 1 }, 1],
    ['if/then', { if: { properties: { a: { const: 1 } } }, then: { required: ['b'] } }, { a: 1 }, 1],
    ['format', { format: 'date-time' }, 'yesterday', 1],
    ['url format', { format: 'url' }, 'http://a/', 0],
    [
      'recursion by #',
      { properties: { child: { $ref: '#' }, v: { type: 'number' } } },
      { child: { child: { v: 'x' } } },
      1,
    ],
    ['$defs', { $defs: { s: { type: 'string' } }, properties: { a: { $ref: '#/$defs/s' } } }, { a: 1 }, 1],
    [
      '$id and anchors',
      { $id: 'https://example.com/a', $defs: { s: { $anchor: 'x', type: 'string' } }, $ref: '#x' },
      1,
      1,
    ],
    [
      '$dynamicRef',
      { $dynamicAnchor: 'n', properties: { next: { $dynamicRef: '#n' }, v: { type: 'number' } } },
      { next: { v: 'x' } },
      1,
    ],
    [
      'uniqueItems by value',
      { uniqueItems: true },
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
      1,
    ],
    ['uniqueItems false', { uniqueItems: false }, [1, 1], 0],
    ['a Chinese pattern', { pattern: '^\\p{Script=Han}+$' }, '退款', 0],
    ['a pattern in code points', { pattern: '^.$' }, '😀', 0],
  ])('%s', (_, schema, value, findings) => {
    expect(validatePayload(schema, value)).toHaveLength(findings);
  });
});

describe('untrusted schemas', () => {
  it.each<[string, JsonSchema]>([
    ['a remote $ref', { $ref: 'https://evil.example/schema.json' }],
    ['a file $ref', { properties: { a: { $ref: 'file:///etc/passwd' } } }],
    ['a $ref to the meta-schema', { $ref: 'https://json-schema.org/draft/2020-12/schema' }],
    ['a back reference', { pattern: '(a)\\1' }],
    ['look-ahead', { patternProperties: { '(?=a)b': true } }],
    ['a huge repetition', { pattern: '(a{1000}){1000}' }],
    ['a pattern inside $defs', { $defs: { a: { not: { pattern: '(?<!a)b' } } } }],
    ['a long pattern', { pattern: 'a'.repeat(1_001) }],
    ['a large schema', { description: 'x'.repeat(70_000) }],
    ['too many subschemas', { allOf: Array.from({ length: 1_001 }, () => ({})) }],
    ['recursion in place', { $ref: '#' }],
    [
      'recursion in place through alternatives',
      { $defs: { t: { anyOf: [{ type: 'string' }, { $ref: '#/$defs/t' }] } }, $ref: '#/$defs/t' },
    ],
    [
      'doubling in place',
      {
        $defs: Object.fromEntries(
          [...Array(40).keys()].map((i): [string, JsonObject] => [
            `l${i}`,
            i === 39 ? {} : { allOf: [{ $ref: `#/$defs/l${i + 1}` }, { $ref: `#/$defs/l${i + 1}` }] },
          ]),
        ),
        $ref: '#/$defs/l0',
      },
    ],
  ])('%s → schema_unsafe', (_, schema) => {
    expect(codeOf(() => compileSchema(schema))).toBe('schema_unsafe');
  });

  it.each<[string, JsonSchema]>([
    ['a wrong type', { type: 'objct' }],
    ['required that is no list', { required: 'a' }],
    ['properties that are no schemas', { properties: { a: 3 } }],
    ['draft 4 tuples', { items: [{ type: 'string' }] }],
  ])('%s → invalid_descriptor', (_, schema) => {
    expect(codeOf(() => compileSchema(schema))).toBe('invalid_descriptor');
  });

  describe('never stall', () => {
    const bounded = (schema: JsonSchema, value: unknown): string | number => {
      const start = process.cpuUsage(); // CPU time: a busy machine makes nothing slower by this clock
      const outcome = codeOf(() => validatePayload(schema, value));
      expect(process.cpuUsage(start).user / 1_000).toBeLessThan(5_000); // each is well under a second on an idle machine
      return outcome;
    };

    it('on a pattern that backtracking engines hang on', () => {
      expect(bounded({ pattern: '^(a+)+$' }, `${'a'.repeat(100_000)}!`)).toBe(1);
    });

    it('on branching recursion', () => {
      const branch = (key: string): JsonObject => ({ properties: { x: { $ref: '#/$defs/n' } }, required: [key] });
      let deep: Json = {};
      for (let level = 0; level < 60; level++) deep = { x: deep };
      expect(bounded({ $defs: { n: { anyOf: [branch('p'), branch('q')] } }, $ref: '#/$defs/n' }, deep)).toBe(
        'schema_unsafe',
      );
    });

    it('on uniqueItems of a long array', () => {
      expect(
        bounded(
          { uniqueItems: true },
          Array.from({ length: 200_000 }, (_, i) => [i]),
        ),
      ).toBe(0);
    });

    it('on many patterns times many keys', () => {
      const patternProperties = Object.fromEntries(
        Array.from({ length: 200 }, (_, i) => [`^a{0,${i % 10}}b*${i}$`, true]),
      );
      expect(
        bounded({ patternProperties }, Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`k${i}`, 1]))),
      ).toBe('schema_unsafe');
    });

    it('on a pattern of many states times many keys', () => {
      const payload = Object.fromEntries(Array.from({ length: 18_000 }, (_, i) => [`${'a'.repeat(40)}${i}!`, 1]));
      const start = process.cpuUsage();
      expect(bounded({ patternProperties: { '^(.*a){20}$': {} } }, payload)).toBe('schema_unsafe');
      expect(process.cpuUsage(start).user / 1_000).toBeLessThan(1_500); // 2,400 ms were it not charged by its states
    });

    it('nor refuse a plain pattern on thousands of texts', () => {
      const names = Array.from({ length: 10_000 }, (_, i) => `customer.name-${i}`);
      expect(bounded({ items: { pattern: '^[\\p{L}\\p{M}\\p{N}_.-]{1,128}$' } }, names)).toBe(0);
    });

    it.each([
      'email',
      'uri',
      'uri-reference',
      'uri-template',
      'url',
      'hostname',
      'ipv4',
      'ipv6',
      'regex',
      'json-pointer',
      'date-time',
      'duration',
    ])('on format %s', (format) => {
      for (const unit of ['a', 'a.', 'a@', ':', '0', '{', '[', 'a-', '%41', '/'])
        bounded({ format }, `http://${unit.repeat(100_000)} `);
    });

    it('nor refuse the largest ordinary payloads', () => {
      const items = Array.from({ length: 80_000 }, () => ({ a: 'abc' }));
      expect(
        bounded(
          {
            type: 'array',
            items: { type: 'object', required: ['a'], properties: { a: { type: 'string', maxLength: 5 } } },
          },
          items,
        ),
      ).toBe(0);
    });
  });

  describe('patterns weigh', () => {
    const heavy = (count: number, head = 'e'): JsonObject =>
      Object.fromEntries(
        Array.from({ length: count }, (_, i) => [`p${i}`, { pattern: `^${head}{${990 - i}}f{700}$` }]),
      );

    it('together at most 10,000 in one schema', () => {
      expect(codeOf(() => compileSchema({ properties: heavy(5) }))).toBe('ok');
      expect(() => compileSchema({ properties: heavy(6) })).toThrow(
        expect.objectContaining({
          code: 'schema_unsafe',
          options: expect.objectContaining({
            errors: [
              {
                pointer: '/properties/p5/pattern',
                message: 'brings the patterns of one schema over their common limit',
                fix: 'use fewer patterns, and maxLength instead of large repetitions',
              },
            ],
          }),
        }),
      );
      const keys = Object.fromEntries(Array.from({ length: 6 }, (_, i) => [`^k{${990 - i}}f{700}$`, true]));
      expect(codeOf(() => compileSchema({ $defs: { a: { not: { patternProperties: keys } } } }))).toBe('schema_unsafe');
    });

    it('nothing where they are no patterns', () => {
      const schema: JsonSchema = {
        properties: { pattern: { type: 'string' }, patternProperties: { type: 'object' } },
        examples: [{ pattern: 'x'.repeat(20_000) }],
      };
      expect(compileSchema(schema).patternWeight).toBe(0);
      expect(validatePayload(schema, { pattern: 1, patternProperties: {} })).toHaveLength(1);
    });

    it('in the cache as well: the least recently used goes first', () => {
      const schemaOf = (n: number): JsonSchema => ({
        title: `cached ${n}`,
        properties: heavy(5, 'xyzuvwabcd'[n % 10]),
      });
      const first = compileSchema(schemaOf(0));
      const second = compileSchema(schemaOf(1));
      for (let n = 2; n < 35; n++) {
        compileSchema(schemaOf(n));
        expect(compileSchema(schemaOf(0))).toBe(first); // used again and again, so kept
      }
      expect(compileSchema(schemaOf(1))).not.toBe(second);
    });
  });

  it('code in names stays text', () => {
    const name = '"];globalThis.pwned=1;//';
    expect(
      validatePayload({ required: [name], properties: { [name]: { const: '`${1}`' } } }, { [name]: 1 }),
    ).toHaveLength(1);
    expect((globalThis as { pwned?: number }).pwned).toBeUndefined();
  });

  it('equal schemas share one compilation, and one does not see another by $id', () => {
    const schema = () => ({ $id: 'https://example.com/s', type: 'string' });
    expect(compileSchema(schema())).toBe(compileSchema({ type: 'string', $id: 'https://example.com/s' }));
    expect(codeOf(() => compileSchema({ $ref: 'https://example.com/s' }))).toBe('schema_unsafe');
    expect(codeOf(() => compileSchema({ $id: 'https://example.com/s', type: 'number' }))).toBe('ok');
  });
});

describe('routingText', () => {
  const schema: JsonSchema = {
    properties: {
      id: { type: 'string' },
      question: { type: 'string', 'x-routing-text': true },
      detail: { 'x-routing-text': true },
    },
  };

  it('takes the marked properties, in the schema’s order', () => {
    expect(routingText(schema, { id: 'T-1', detail: { lines: ['b', 'c'] }, question: 'a' })).toBe('a\nb\nc');
  });

  it('takes every string where nothing is marked or the marked are absent', () => {
    expect(routingText(undefined, { a: 'x', n: 1, b: { c: ['y', null, ' '] } })).toBe('x\ny');
    expect(routingText(schema, { id: 'T-1' })).toBe('T-1');
    expect(routingText(true, {})).toBe('');
  });

  it('is bounded and never ends in half a character', () => {
    const text = routingText(undefined, { a: '🧾'.repeat(1_500), b: 'more' });
    expect(text.length).toBeLessThanOrEqual(2_000);
    expect(text).toBe('🧾'.repeat(1_000));
    const odd = routingText(undefined, { a: `x${'🧾'.repeat(1_500)}` });
    expect(odd).toBe(`x${'🧾'.repeat(999)}`);
  });
});

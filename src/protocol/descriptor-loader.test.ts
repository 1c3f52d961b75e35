import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseDescriptor } from './descriptor-loader';
import { ReachError } from './reach-error';

const fixture = join(__dirname, '../../test/fixtures/descriptors/product_qa_agent.yaml');

const minimal = 'name: echo\nversion: 1.0.0\ncapabilities: [echo]\n';

function refusal(text: string | Uint8Array, format: 'yaml' | 'json' = 'yaml') {
  try {
    parseDescriptor(text, format);
  } catch (error) {
    if (!(error instanceof ReachError)) throw error;
    const { code, message, options } = error;
    return { code, message, pointers: options.errors?.map(({ pointer }) => pointer), details: options.extra?.details };
  }
  throw new Error('nothing was thrown');
}

const accepted = (text: string | Uint8Array, format: 'yaml' | 'json' = 'yaml') =>
  parseDescriptor(text, format).descriptor;

describe('parseDescriptor', () => {
  it('reads the reference descriptor as it stands (R12)', () => {
    const { descriptor, warnings } = parseDescriptor(readFileSync(fixture), 'yaml');
    expect(warnings).toEqual([]);
    expect(descriptor).toMatchObject({
      name: 'product_qa_agent',
      version: '1.4.0',
      accepted_message_types: ['task'],
      compatible_versions: [],
      endpoint: { protocol: 'grpc', address: 'product-qa-svc:9001', timeout_ms: 3_000, max_retry: 2 },
      auth: { type: 'static_token', token_env: 'PRODUCT_QA_TOKEN' },
      health_check: { interval_sec: 30, timeout_sec: 5 },
    });
    expect(descriptor.capabilities[0]).toMatchObject({
      name: 'product_question_answer',
      description: '回答商品的属性、库存、价格与用法等常见问题',
      examples: [],
    });
  });

  it('gives the same from YAML, from JSON, and with a BOM (B07)', () => {
    const data = accepted(minimal);
    expect(accepted(`\ufeff${minimal}`)).toEqual(data);
    expect(accepted(Buffer.from(`\ufeff${minimal}`))).toEqual(data);
    expect(accepted('{"name":"echo","version":"1.0.0","capabilities":["echo"]}', 'json')).toEqual(data);
    expect(accepted('{"name":"echo","version":"v1.0.0","capabilities":[{"name":"echo"}]}', 'json')).toEqual(data);
  });

  it('refuses what is not UTF-8', () => {
    expect(refusal(Buffer.concat([Buffer.from('name: "'), Buffer.from([0xc3, 0x28]), Buffer.from('"')])).code).toBe(
      'invalid_descriptor',
    );
  });

  describe('alias bombs (B01)', () => {
    const bomb = () => {
      let text = 'a0: &a0 [x,x,x,x,x,x,x,x,x]\n';
      for (let level = 1; level <= 8; level++)
        text += `a${level}: &a${level} [${Array(9)
          .fill(`*a${level - 1}`)
          .join(',')}]\n`;
      return `${text}name: bomb\n`;
    };
    const merges = `base: &B {x: 1}\n${Array.from({ length: 500 }, (_, i) => `m${i}: {<<: *B}`).join('\n')}\n`;

    it.each([
      ['nested aliases', bomb()],
      ['merge keys', merges],
      ['few aliases that multiply', `a: &a [${'x,'.repeat(2_000)}]\nb: [*a,*a,*a,*a,*a,*a]\n`],
    ])('%s → invalid_descriptor with reason alias_limit', (_, text) => {
      const start = process.cpuUsage();
      expect(refusal(text)).toMatchObject({ code: 'invalid_descriptor', details: { reason: 'alias_limit' } });
      expect(process.cpuUsage(start).user / 1_000).toBeLessThan(300);
    });

    it('a star in text is no alias', () => {
      const starred = `${minimal}description: |\n${'  *x\n'.repeat(200)}`;
      expect(accepted(starred).description).toContain('*x');
    });

    it('an alias of an enclosing anchor does not recurse for ever', () => {
      expect(refusal('a: &a [*a]').code).toBe('input_too_deep');
    });

    it('a few aliases are fine and give copies', () => {
      const text = `name: echo\nversion: 1.0.0\ncapabilities:\n  - {name: a, input_schema: &s {type: object}}\n  - {name: b, input_schema: *s}\n`;
      const [first, second] = accepted(text).capabilities;
      expect(second!.input_schema).toEqual({ type: 'object' });
      expect(second!.input_schema).not.toBe(first!.input_schema);
    });

    it('merge keys are refused even when few', () => {
      expect(refusal('base: &B {x: 1}\nm: {<<: *B}\n')).toMatchObject({
        code: 'invalid_descriptor',
        pointers: ['/m/<<'],
      });
    });
  });

  describe('duplicate keys (B02)', () => {
    it('names the key and both lines in YAML', () => {
      const text = `${minimal}endpoint:\n  timeout_ms: 30000\n${'  # …\n'.repeat(19)}  protocol: http\n  timeout_ms: 300\n`;
      const { code, message, pointers, details } = refusal(text);
      expect({ code, pointers, details }).toEqual({
        code: 'duplicate_key',
        pointers: ['/endpoint/timeout_ms'],
        details: { key: 'timeout_ms', lines: [5, 26] },
      });
      expect(message).toContain('line 5 and line 26');
    });

    it('the same in JSON', () => {
      expect(refusal('{"name":"a","endpoint":{"timeout_ms":30000,"timeout_ms":300}}', 'json')).toMatchObject({
        code: 'duplicate_key',
        pointers: ['/endpoint/timeout_ms'],
      });
    });

    it('is seen through quotes', () => {
      expect(refusal(`${minimal}"name": b\n`)).toMatchObject({ code: 'duplicate_key', pointers: ['/name'] });
    });
  });

  describe('scalars keep their meaning (B03)', () => {
    it('version: 1.10 must be quoted', () => {
      const { code, message } = refusal('name: a\nversion: 1.10\ncapabilities: [x]\n');
      expect(code).toBe('invalid_descriptor');
      expect(message).toContain('/version must be a quoted string (got number 1.1)');
    });

    it('all of the case at once', () => {
      const { message, pointers } = refusal(
        'version: 1.10\nid: 0042\nendpoint: {port: 0o17}\ntenant: 9007199254740993\nname: a\ncapabilities: [x]\n',
      );
      expect(pointers).toEqual(expect.arrayContaining(['/version', '/id', '/endpoint/port', '/tenant']));
      expect(message).toContain('/id must be a quoted string (got number 42)');
      expect(message).toContain('/tenant must be a quoted string (got number 9007199254740993)');
    });

    it.each(['0042', '0o17', '0x1F', '1e400', '.inf', '.nan', '9007199254740993'])(
      '%s is refused wherever it stands',
      (scalar) => {
        const text = `name: a\nversion: 1.0.0\ncapabilities: [{name: x, fallback: {code: ${scalar}}}]\n`;
        expect(refusal(text)).toMatchObject({
          code: 'invalid_descriptor',
          pointers: ['/capabilities/0/fallback/code'],
        });
        expect(accepted(text.replace(scalar, `"${scalar}"`)).capabilities[0]!.fallback).toEqual({ code: scalar });
      },
    );

    it.each([
      ['1.0', 1],
      ['0.5', 0.5],
      ['50', 50],
      ['1e3', 1000],
      ['0', 0],
      ['yes', 'yes'],
      ['1_000', '1_000'],
      ['2024-01-01', '2024-01-01'],
      ['!!str 0042', '0042'],
    ])('%s is %j', (scalar, value) => {
      expect(
        accepted(`name: a\nversion: 1.0.0\ncapabilities: [{name: x, fallback: {v: ${scalar}}}]\n`).capabilities[0]!
          .fallback,
      ).toEqual({ v: value });
    });

    it('warns of a trailing zero that may have been text', () => {
      const { warnings } = parseDescriptor(
        'name: a\nversion: 1.0.0\ncapabilities: [{name: x, fallback: {api: 1.10}}]\n',
        'yaml',
      );
      expect(warnings).toEqual(['/capabilities/0/fallback/api is read as the number 1.1; write "1.10" if it is text']);
    });

    it('keys must be text', () => {
      expect(refusal(`${minimal}1.10: x\n`).message).toContain('has a key that is not text (1.10)');
      expect(refusal(`${minimal}? [a]\n: x\n`).code).toBe('invalid_descriptor');
    });
  });

  describe('depth (B04)', () => {
    it.each([
      ['brackets', `x: ${'['.repeat(5_000)}${']'.repeat(5_000)}`],
      ['unfinished brackets', `x: ${'['.repeat(50_000)}`],
      ['braces', `x: ${'{a: '.repeat(5_000)}`],
      ['compact sequences', `${'- '.repeat(5_000)}x`],
      ['explicit keys', `${'? '.repeat(5_000)}x`],
      ['indentation', Array.from({ length: 400 }, (_, i) => `${' '.repeat(i)}a:`).join('\n')],
    ])('%s → input_too_deep with the limit', (_, text) => {
      expect(refusal(text)).toMatchObject({ code: 'input_too_deep', details: { limit: 64 } });
    });

    it('64 levels are taken', () => {
      const depth = 64 - 3; // capabilities, its item, and the object itself
      const text = `name: a\nversion: 1.0.0\ncapabilities: [{name: x, fallback: ${'['.repeat(depth)}${']'.repeat(depth)}}]\n`;
      expect(accepted(text).capabilities[0]!.fallback).toBeDefined();
      expect(refusal(text.replace('[]', '[[]]')).code).toBe('input_too_deep');
    });

    it('JSON the same', () => {
      expect(refusal(`{"x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, 'json').code).toBe('input_too_deep');
    });
  });

  describe('number of values', () => {
    it.each([
      ['a long list', `a: [${Array(120_000).fill('1').join(',')}]`],
      ['many keys', Array.from({ length: 20_000 }, (_, i) => `k${i}: 1`).join('\n')],
      ['empty items', '-\n'.repeat(50_000)],
      ['empty keys', `{${'? ,'.repeat(50_000)}}`],
    ])('%s → invalid_descriptor with reason node_limit, soon', (_, text) => {
      const start = process.cpuUsage();
      expect(refusal(text)).toMatchObject({
        code: 'invalid_descriptor',
        details: { reason: 'node_limit', max_nodes: 20_000 },
      });
      expect(process.cpuUsage(start).user / 1_000).toBeLessThan(700);
    });

    it('text of many dashes, colons and commas is one value', () => {
      const prose = `${minimal}description: |\n${'  - a: b, c\n'.repeat(150)}`;
      expect(accepted(prose).description).toContain('- a: b, c');
    });

    it('19,000 are taken', () => {
      const list = Array(19_000).fill('1').join(',');
      const text = `name: a\nversion: 1.0.0\ncapabilities: [{name: x, fallback: [${list}]}]\n`;
      expect(accepted(text).capabilities[0]!.fallback).toHaveLength(19_000);
    });
  });

  it.each([
    ['__proto__: {role: admin}', '/__proto__'],
    ['a: {"__proto__": 1}', '/a/__proto__'],
    ['a: {constructor: {prototype: {role: admin}}}', '/a/constructor/prototype'],
  ])('%s → forbidden_key (B06)', (text, pointer) => {
    expect(refusal(text)).toMatchObject({ code: 'forbidden_key', pointers: [pointer] });
    expect(({} as { role?: string }).role).toBeUndefined();
  });

  it.each([
    ['two documents', `${minimal}---\n${minimal}`],
    ['an unknown tag', `${minimal}description: !secret x\n`],
    ['a binary tag', `${minimal}description: !!binary aGk=\n`],
    ['YAML 1.1', `%YAML 1.1\n---\n${minimal}`],
    ['broken syntax', 'name: [a\n'],
    ['an alias of nothing', `${minimal}description: *x\n`],
    ['nothing', ''],
    ['a scalar', 'hello'],
    ['a list', '[1]'],
  ])('refuses %s', (_, text) => {
    expect(refusal(text).code).toBe('invalid_descriptor');
  });

  it('says where broken syntax is', () => {
    expect(refusal('name: a\nversion: "1\n').message).toMatch(/line \d+, column \d+/);
  });

  it('refuses more than 256 KiB', () => {
    expect(refusal(`${minimal}# ${'x'.repeat(262_144)}`).code).toBe('payload_too_large');
  });

  it('lists every finding with the nearest known key', () => {
    const text =
      'name: Echo\nversoin: 1.0.0\ncapabilities: [{name: x, timeoutMs: 3, idempotent: "yes"}]\nendpoint: {protocol: htp, max_retry: 11}\nauth: {type: oauth}\n';
    const { code, pointers, message } = refusal(text);
    expect(code).toBe('invalid_descriptor');
    expect(pointers!.toSorted()).toEqual(
      [
        '/auth/type',
        '/capabilities/0/idempotent',
        '/capabilities/0/timeoutMs',
        '/endpoint/max_retry',
        '/endpoint/protocol',
        '/name',
        '/version',
        '/versoin',
      ].toSorted(),
    );
    expect(refusal('name: echo\nversion: 1.0.0\ncapabilities: [x]\nendpiont: {}\n').message).toContain(
      'did you mean endpoint?',
    );
    expect(message).toContain('must be');
  });

  it.each(['1.2', 'v1', '""', '01.2.3', '1.2.3.4', 'banana'])('version %s → 400 at /version (E03)', (version) => {
    expect(refusal(`name: a\nversion: ${version}\ncapabilities: [x]\n`)).toMatchObject({
      code: 'invalid_descriptor',
      pointers: ['/version'],
    });
  });

  it.each(['-1', '11', '2.5', '1e9', '"3"', 'null', '.nan'])('max_retry %s → 400 (T03)', (retries) => {
    const text = `name: a\nversion: 1.0.0\ncapabilities: [x]\nendpoint: {protocol: http, address: "http://127.0.0.1:1", max_retry: ${retries}}\n`;
    expect(refusal(text)).toMatchObject({ code: 'invalid_descriptor', pointers: ['/endpoint/max_retry'] });
  });

  it.each(['"^"', 'latest', '"1"', '""'])('compatible_versions [%s] → 400', (range) => {
    expect(refusal(`${minimal}compatible_versions: [${range}]\n`).pointers).toEqual(['/compatible_versions/0']);
  });

  describe('ability names (R15, B10)', () => {
    it.each([
      ['a-b', 'a_b'],
      ['refund', 'Refund'],
      ['invoice-ocr', 'іnvoice-ocr'],
      ['echo', 'echo'],
    ])('%s and %s → name_collision', (left, right) => {
      expect(refusal(`name: a\nversion: 1.0.0\ncapabilities: ["${left}", "${right}"]\n`)).toMatchObject({
        code: 'name_collision',
        pointers: ['/capabilities/1/name'],
      });
    });

    it.each(['a b', 'ｘ y', 'a/b', '', 'x'.repeat(129), 'cafe\u0301'])('%j is no name', (name) => {
      expect(refusal(JSON.stringify({ name: 'a', version: '1.0.0', capabilities: [name] }), 'json').code).toBe(
        'invalid_descriptor',
      );
    });

    it('any script is fine', () => {
      expect(
        accepted('name: a\nversion: 1.0.0\ncapabilities: [退款进度, größe.v2, оплата]\n').capabilities.map(
          ({ name }) => name,
        ),
      ).toEqual(['退款进度', 'größe.v2', 'оплата']);
    });
  });

  describe('schemas', () => {
    const withSchema = (schema: string) =>
      `name: a\nversion: 1.0.0\ncapabilities: [{name: x, input_schema: ${schema}}]\n`;

    it('must be JSON Schema', () => {
      expect(refusal(withSchema('{type: objct}'))).toMatchObject({
        code: 'invalid_descriptor',
        pointers: ['/capabilities/0/input_schema/type'],
      });
      expect(refusal(withSchema('text')).code).toBe('invalid_descriptor');
    });

    it('must be safe, and the finding points into the descriptor', () => {
      expect(refusal(withSchema('{properties: {a: {pattern: "(x)\\\\1"}}}'))).toMatchObject({
        code: 'schema_unsafe',
        pointers: ['/capabilities/0/input_schema/properties/a/pattern'],
      });
    });

    const heavy = (count: number, isSame = false) =>
      JSON.stringify({
        name: 'a',
        version: '1.0.0',
        capabilities: Array.from({ length: count }, (_, i) => ({
          name: `ability${i}`,
          input_schema: {
            properties: Object.fromEntries(
              Array.from({ length: 4 }, (_, j) => [
                `p${j}`,
                { pattern: `^e{${990 - j}}f{${700 + (isSame ? 0 : i)}}$` },
              ]),
            ),
          },
        })),
      });

    it('have patterns of bounded weight, all together; equal schemas count once', () => {
      expect(accepted(heavy(2), 'json').capabilities).toHaveLength(2);
      expect(accepted(heavy(60, true), 'json').capabilities).toHaveLength(60);
      const start = process.cpuUsage();
      expect(refusal(heavy(60), 'json')).toMatchObject({
        code: 'schema_unsafe',
        pointers: ['/capabilities/2/input_schema'],
        message: expect.stringContaining('use fewer patterns'),
      });
      expect(process.cpuUsage(start).user / 1_000).toBeLessThan(1_500);
    });

    it('warn of keywords that mean nothing', () => {
      expect(parseDescriptor(withSchema('{requird: [a], x-routing-text: true}'), 'yaml').warnings).toEqual([
        '/capabilities/0/input_schema/requird is no keyword of JSON Schema 2020-12 and is ignored; did you mean required?',
      ]);
    });
  });

  describe('health checks (R39)', () => {
    const warningsOf = (check: string, breakerWindowSec?: number) =>
      parseDescriptor(`${minimal}health_check: ${check}\n`, 'yaml', { breakerWindowSec }).warnings;

    it('warns of an interval over a quarter of the breaker window', () => {
      expect(warningsOf('{interval_sec: 30}')).toEqual([]);
      expect(warningsOf('{interval_sec: 31}')).toEqual([expect.stringContaining('use 30 s or less')]);
      expect(warningsOf('{interval_sec: 30}', 60)).toEqual([expect.stringContaining('use 15 s or less')]);
    });

    it('warns of a timeout that is not shorter than the interval', () => {
      expect(warningsOf('{interval_sec: 5, timeout_sec: 5}')).toHaveLength(1);
    });
  });
});

describe('a fallback that could never stand in', () => {
  const descriptor = (fallback: string, schema = '') =>
    `name: a\nversion: 1.0.0\ncapabilities: [{name: x, fallback: ${fallback}${schema}}]\n`;

  it.each(['a', 'a#1.0.0', '{agent: a}'])('is the agent itself (%s)', (fallback) => {
    expect(refusal(descriptor(fallback))).toMatchObject({
      code: 'invalid_descriptor',
      pointers: ['/capabilities/0/fallback'],
    });
  });

  it('is an answer that breaks its own output schema', () => {
    const schema = ', output_schema: {type: object, required: [zip], properties: {zip: {type: string}}}';
    expect(refusal(descriptor('{answer: none}', schema)).message).toContain('output schema');
    expect(accepted(descriptor('{zip: "00000"}', schema))).toBeDefined();
    expect(accepted(descriptor('other_agent', schema))).toBeDefined();
  });
});

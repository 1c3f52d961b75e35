import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import ts from 'typescript';
import type { Json } from '../../protocol/shapes';
import type { AgentView } from '../../sdk/wire-types';
import { catalogueOf, type CatalogueEntry } from './catalogue';
import { constantName, identifiersFor, typeName } from './identifiers';
import { renderModule } from './render';
import { typeOfSchema } from './schema-types';

const HOSTILE = '*/ } ; throw new Error("owned") /* ` ${1} \\ " \' \n\r\u2028 @deprecated \u202e """ # ';
const NAMES = [
  'refund_progress',
  'refund.progress_of',
  '退款.查询',
  '3d-print',
  'class',
  'None',
  'import',
  'invoice-ocr',
  'a.b',
  'a_b_',
  'constructor',
  '__proto__',
  'Straße',
  '___',
];

const SCHEMA: Json = {
  type: 'object',
  required: ['user_message', 'kind'],
  properties: {
    user_message: { type: 'string', minLength: 1 },
    kind: { enum: ['refund', 'other', null] },
    order: { $ref: '#/$defs/order' },
    'odd key*/': { type: ['integer', 'null'] },
    tags: { type: 'array', items: { oneOf: [{ type: 'string' }, { type: 'number' }] } },
    anything: true,
    never: false,
  },
  $defs: {
    order: {
      type: 'object',
      properties: { id: { type: 'string' }, parent: { $ref: '#/$defs/order' } },
      additionalProperties: false,
    },
  },
};

const entry = (name: string, more: Partial<CatalogueEntry> = {}): CatalogueEntry => ({
  name,
  description: HOSTILE,
  agents: ['a'],
  ...more,
});
const catalogue = NAMES.toSorted().map((name) =>
  entry(name, name === 'refund_progress' ? { input_schema: SCHEMA } : {}),
);

/** The least that the compiler needs; its own library would take it seconds. */
const LIB = `
  interface Array<T> { length: number; [n: number]: T }
  interface Boolean {} interface CallableFunction {} interface Function {} interface IArguments {} interface NewableFunction {}
  interface Number {} interface Object {} interface RegExp {} interface String {}
  type Record<K extends keyof any, T> = { [P in K]: T };`;

/** The compiler's complaints about generated modules and about what uses them, by file. */
function complaints(files: Record<string, string>): Record<string, string[]> {
  const all: Record<string, string> = { '/lib.d.ts': LIB, ...files };
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    noLib: true,
    types: [],
    target: ts.ScriptTarget.ES2022,
  };
  const host: ts.CompilerHost = {
    getSourceFile: (name, target) =>
      Object.hasOwn(all, name) ? ts.createSourceFile(name, all[name]!, target) : undefined,
    fileExists: (name) => Object.hasOwn(all, name),
    readFile: (name) => all[name],
    getDefaultLibFileName: () => '/lib.d.ts',
    writeFile: () => undefined,
    getCurrentDirectory: () => '/',
    getCanonicalFileName: (name) => name,
    useCaseSensitiveFileNames: () => true,
    getNewLine: () => '\n',
  };
  const program = ts.createProgram(Object.keys(all), options, host);
  const found = ts.getPreEmitDiagnostics(program);
  const of = (name: string) => found.filter(({ file }) => file?.fileName === name);
  const text = (one: ts.Diagnostic) => ts.flattenDiagnosticMessageText(one.messageText, '\n');
  return Object.fromEntries(Object.keys(files).map((name) => [name, of(name).map(text)]));
}

describe('TypeScript', () => {
  const module = renderModule(catalogue, 'ts');
  const found = complaints({
    '/abilities.ts': module,
    '/none.ts': renderModule([], 'ts'),
    '/good.ts': `
      import { ABILITIES, type AbilityName, type AbilityInputs, type RefundProgressInput } from './abilities';
      export const names: AbilityName[] = [ABILITIES.REFUND_PROGRESS, ABILITIES.CLASS, ABILITIES._3D_PRINT];
      export const chinese: '退款.查询' = ABILITIES.退款_查询;
      export const good: RefundProgressInput = { user_message: 'x', kind: null, 'odd key*/': 1, tags: ['a', 1], order: { id: '1' }, more: 1 };
      export const same: AbilityInputs['refund_progress'] = good;`,
    '/bad.ts': `
      import type { AbilityName, RefundProgressInput } from './abilities';
      export const name: AbilityName = 'refund_progres';
      export const bad: RefundProgressInput = { user_message: 1, kind: 'refund' };`,
  });

  it('compiles whatever names and descriptions say, and for an empty catalogue', () => {
    expect(found['/abilities.ts']).toEqual([]);
    expect(found['/none.ts']).toEqual([]);
  });

  it('holds callers to names and schemas', () => {
    expect(found['/good.ts']).toEqual([]);
    expect(found['/bad.ts']).toEqual([
      expect.stringContaining(`'"refund_progres"' is not assignable`),
      expect.stringContaining("'number' is not assignable to type 'string'"),
    ]);
  });

  it('is the same text for the same catalogue, and says how it is made', () => {
    expect(renderModule(catalogue, 'ts')).toBe(module);
    expect(module.startsWith('// Written by `agent-reach abilities --codegen --out FILE`; do not edit.')).toBe(true);
  });
});

it('Python runs, and has the very names', () => {
  const folder = mkdtempSync(join(tmpdir(), 'codegen-'));
  try {
    writeFileSync(join(folder, 'abilities.py'), renderModule(catalogue, 'python'));
    const script = 'import json, abilities; print(json.dumps([list(abilities.ABILITIES), abilities.退款_查询]))';
    const out = execFileSync('python3', ['-c', script], {
      cwd: folder,
      encoding: 'utf8',
      env: { ...process.env, PYTHONIOENCODING: 'utf8', PYTHONDONTWRITEBYTECODE: '1' },
    });
    expect(JSON.parse(out)).toEqual([NAMES.toSorted(), '退款.查询']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('JSON has everything', () => {
  expect(JSON.parse(renderModule(catalogue, 'json'))).toMatchObject({ abilities: catalogue });
});

describe('identifiers', () => {
  it.each([
    ['refund_progress', 'REFUND_PROGRESS', 'RefundProgress'],
    ['退款.查询', '退款_查询', '退款查询'],
    ['3d-print', '_3D_PRINT', '_3dPrint'],
    ['None', 'NONE', 'None_'],
    ['___', '_', '_'],
  ])('%s → %s, %s', (name, constant, type) => {
    expect([constantName(name), typeName(name)]).toEqual([constant, type]);
  });

  it('are valid and distinct, whatever the names and their order (property)', () => {
    const name = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(fc.uniqueArray(fc.oneof(name, fc.constantFrom(...NAMES)), { maxLength: 30 }), (names) => {
        for (const make of [constantName, typeName]) {
          const chosen = identifiersFor(names, make);
          expect(new Set(chosen.values()).size).toBe(names.length);
          for (const identifier of chosen.values()) expect(identifier).toMatch(/^[\p{ID_Start}_][\p{ID_Continue}]*$/u);
          expect(identifiersFor(names.toReversed(), make)).toEqual(chosen);
        }
      }),
    );
  });
});

describe('types of schemas', () => {
  it.each<[Json | undefined, string]>([
    [undefined, 'unknown'],
    [true, 'unknown'],
    [false, 'never'],
    [{ type: 'integer' }, 'number'],
    [{ type: ['string', 'null'] }, 'string | null'],
    [{ type: 'array', items: { type: ['string', 'null'] } }, '(string | null)[]'],
    [{ type: 'array' }, 'unknown[]'],
    [{ type: 'array', prefixItems: [{}] }, 'unknown[]'],
    [{ const: 'x' }, '"x"'],
    [{ enum: [1, 'a', null] }, '1 | "a" | null'],
    [{ enum: [{ a: 1 }] }, 'unknown'],
    [{ type: 'object' }, 'Record<string, unknown>'],
    [{ type: 'object', additionalProperties: false }, 'Record<string, never>'],
    [{ type: 'object', additionalProperties: { type: 'number' } }, 'Record<string, number>'],
    [{ type: 'object', properties: { a: { type: 'string' } }, additionalProperties: false }, '{\n  a?: string;\n}'],
    [{ anyOf: [{ type: 'string' }, {}] }, 'unknown'],
    [{ not: { type: 'string' } }, 'unknown'],
    [{ if: {}, then: {}, type: 'string' }, 'unknown'],
    [{ $ref: 'https://elsewhere' }, 'unknown'],
    [{ $ref: '#/$defs/none' }, 'unknown'],
    [{ type: 'string', pattern: '^a' }, 'string'],
    [{ type: 'invented' }, 'unknown'],
  ])('%j is %s', (schema, type) => expect(typeOfSchema(schema)).toBe(type));
});

it('a catalogue is the same whatever order agents come in, and leaves out what they do not agree on', () => {
  const agentOf = (name: string, input_schema: Json) =>
    ({
      name,
      versions: [
        {
          version: '1.0.0',
          descriptor: {
            capabilities: [{ name: 'work', description: name, input_schema, output_schema: { type: 'object' } }],
          },
        },
      ],
    }) as unknown as AgentView;
  const agents = [agentOf('b', { type: 'object' }), agentOf('a', { type: 'string' })];
  const expected = [{ name: 'work', description: 'a', agents: ['a', 'b'], output_schema: { type: 'object' } }];
  expect(catalogueOf(agents)).toEqual(expected);
  expect(catalogueOf(agents.toReversed())).toEqual(expected);
});

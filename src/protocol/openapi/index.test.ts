import Ajv2020 from 'ajv/dist/2020';
import { ERROR_CODES } from '../error-codes';
import { buildOpenApi, OPERATIONS } from './index';
import type { Body } from './operation';

type Node = Record<string, unknown>;
const document = buildOpenApi({ version: '1.2.3' }) as {
  openapi: string;
  info: Node;
  paths: Record<string, Record<string, Node>>;
  components: { schemas: Record<string, Node> };
};

function* refs(node: unknown): Generator<string> {
  if (node === null || typeof node !== 'object') return;
  for (const [key, value] of Object.entries(node)) {
    if (key === '$ref' && typeof value === 'string') yield value;
    else yield* refs(value);
  }
}

const resolve = (ref: string): unknown =>
  ref
    .slice(2)
    .split('/')
    .reduce<unknown>(
      (node, token) => (node as Node | undefined)?.[token.replaceAll('~1', '/').replaceAll('~0', '~')],
      document,
    );

describe('OpenAPI document', () => {
  it('is OpenAPI 3.1 with the release as version and is plain JSON', () => {
    expect(document.openapi).toBe('3.1.0');
    expect(document.info.version).toBe('1.2.3');
    expect(JSON.parse(JSON.stringify(document))).toEqual(document);
  });

  it('has every operation once, with unique ids and answers', () => {
    const ids = Object.values(document.paths).flatMap((path) =>
      Object.values(path).map((operation) => operation.operationId),
    );
    expect(ids).toHaveLength(OPERATIONS.length);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { method, path } of OPERATIONS)
      expect(Object.keys(document.paths[path]![method]!.responses as Node).length).toBeGreaterThan(0);
  });

  it('resolves every $ref', () => {
    const all = [...refs(document)];
    expect(all.length).toBeGreaterThan(20);
    for (const ref of all) {
      expect(ref).toMatch(/^#\/components\//);
      expect({ ref, found: resolve(ref) !== undefined }).toEqual({ ref, found: true });
    }
  });

  it('declares each path parameter that its path has, and no other', () => {
    for (const [path, operations] of Object.entries(document.paths)) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      for (const operation of Object.values(operations)) {
        const declared = ((operation.parameters ?? []) as Node[])
          .filter((parameter) => parameter.in === 'path')
          .map(({ name }) => name);
        expect(declared.toSorted()).toEqual(inPath.toSorted());
      }
    }
  });

  it('names the closed list of codes', () => {
    expect(document.components.schemas.ErrorCode!.enum).toEqual(ERROR_CODES);
  });

  it('says how to send: headers and problem documents of POST /v1/reaches', () => {
    const post = document.paths['/v1/reaches']!.post!;
    const headers = (post.parameters as Node[])
      .filter((parameter) => parameter.in === 'header')
      .map(({ name }) => name);
    expect(headers).toEqual([
      'Prefer',
      'Idempotency-Key',
      'X-Reach-Timeout-Ms',
      'X-Reach-Token',
      'X-Reach-Parent',
      'X-Reach-Deadline-Ms',
      'traceparent',
    ]);
    const responses = post.responses as Record<string, { content: Node; description: string }>;
    expect(Object.keys(responses)).toEqual([
      '200',
      '202',
      '400',
      '401',
      '403',
      '404',
      '409',
      '413',
      '415',
      '422',
      '429',
      '500',
      '502',
      '503',
      '504',
      '507',
    ]);
    expect(Object.keys(responses['422']!.content)).toEqual(['application/problem+json']);
    expect(responses['422']!.description).toContain('idempotency_key_reused');
  });

  it('has schemas that are JSON Schema 2020-12', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    ajv.addSchema({ $id: 'api:', components: document.components });
    for (const name of Object.keys(document.components.schemas)) {
      expect(() => ajv.compile({ $ref: `api:#/components/schemas/${name}` })).not.toThrow();
    }
  });

  const bodies: [string, Body][] = OPERATIONS.flatMap(({ id, body, answers }) => [
    ...(body ? [[`${id} body`, body] as [string, Body]] : []),
    ...Object.entries(answers).flatMap(([status, answer]) =>
      answer.body ? [[`${id} ${status}`, answer.body] as [string, Body]] : [],
    ),
  ]);
  const named = bodies.flatMap(([where, { schema, examples = {} }]) =>
    Object.entries(examples).map(([name, value]) => ({ where, name, schema, value })),
  );

  it.each(named)('example $name of $where fits its schema', ({ schema, value }) => {
    expect(schema.safeParse(value).error).toBeUndefined();
  });
});

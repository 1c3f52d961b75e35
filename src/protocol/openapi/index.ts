/** The OpenAPI 3.1 document, generated from the schemas that validate. */
import { OpenApiGeneratorV31, OpenAPIRegistry, type RouteConfig } from '@asteasolutions/zod-to-openapi';
import { ERROR_TABLE, type ErrorCode } from '../error-codes';
import { ABILITY_OPERATIONS } from './abilities';
import { AGENT_OPERATIONS } from './agents';
import { BREAKER_OPERATIONS } from './breakers';
import { CALLBACK_OPERATIONS, CALLBACK_WEBHOOK } from './callbacks';
import { CONTEXT_OPERATIONS } from './contexts';
import { DEAD_LETTER_OPERATIONS } from './dead-letters';
import { DECISION_OPERATIONS } from './decisions';
import { DEDUPLICATION_OPERATIONS } from './deduplication';
import { DOCTOR_OPERATIONS } from './doctor';
import { EVENT_OPERATIONS } from './events';
import type { Body, Operation } from './operation';
import { PAYLOAD_OPERATIONS } from './payloads';
import { PLATFORM_OPERATIONS } from './platform';
import { REACH_OPERATIONS } from './reaches';
import { ROUTE_OPERATIONS } from './routes';
import { SCALING_OPERATIONS } from './scaling';
import { problemSchema } from '../result';

type Responses = RouteConfig['responses'];
type Content = NonNullable<NonNullable<NonNullable<RouteConfig['request']>['body']>['content']>;

/** Every operation of this release. */
export const OPERATIONS: readonly Operation[] = [
  ...REACH_OPERATIONS,
  ...CALLBACK_OPERATIONS,
  ...EVENT_OPERATIONS,
  ...PAYLOAD_OPERATIONS,
  ...DEAD_LETTER_OPERATIONS,
  ...CONTEXT_OPERATIONS,
  ...AGENT_OPERATIONS,
  ...BREAKER_OPERATIONS,
  ...DEDUPLICATION_OPERATIONS,
  ...ABILITY_OPERATIONS,
  ...ROUTE_OPERATIONS,
  ...DECISION_OPERATIONS,
  ...DOCTOR_OPERATIONS,
  ...SCALING_OPERATIONS,
  ...PLATFORM_OPERATIONS,
];

/** Codes that any operation under /v1 may answer. */
const COMMON_PROBLEMS: readonly ErrorCode[] = ['unauthorized', 'forbidden', 'engine_unavailable', 'internal'];

const TAGS = [
  { name: 'reaches', description: 'Send requests to agents and follow them.' },
  { name: 'payloads', description: 'Upload what is too large for a body, in chunks.' },
  { name: 'contexts', description: 'Share fields between reaches, with versions.' },
  { name: 'events', description: 'Publish events and subscribe to topics.' },
  { name: 'agents', description: 'Register agents and instances.' },
  { name: 'abilities', description: 'Find who can do what.' },
  { name: 'operations', description: 'For those who run the gateway.' },
];

/** Builds the document. `version` is the release's. */
export function buildOpenApi({ version }: { version: string }): object {
  const registry = new OpenAPIRegistry();
  registry.registerComponent('securitySchemes', 'apiKey', {
    type: 'http',
    scheme: 'bearer',
    description: 'The key of the installation; none is needed where none is configured (loopback only).',
  });
  for (const operation of OPERATIONS) registry.registerPath(toRoute(operation));
  registerCallback(registry);
  const document = new OpenApiGeneratorV31(registry.definitions).generateDocument({
    openapi: '3.1.0',
    info: {
      title: 'Agent-Reach',
      version,
      description: 'AI agents find each other by ability and get work done through each other, reliably.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    tags: TAGS,
  });
  delete document.webhooks; // the generator adds an empty list
  return plainPatterns(document) as object;
}

/** What is posted to others. */
function registerCallback(registry: OpenAPIRegistry): void {
  const { name, headers, body, ...told } = CALLBACK_WEBHOOK;
  registry.registerWebhook({
    method: 'post',
    path: name,
    operationId: name,
    ...told,
    request: { headers, body: { required: true, content: contentOf(body) } },
    responses: { '2XX': { description: 'Taken' }, 410: { description: 'No more of these' } },
  });
}

/** The generator leaves the flag of a regular expression in `pattern` (`^x$/u`); JSON Schema has Unicode by definition. */
function plainPatterns(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(plainPatterns);
  if (node === null || typeof node !== 'object') return node;
  const entries = Object.entries(node).map(([key, value]) =>
    key === 'pattern' && typeof value === 'string' ? [key, value.replace(/\/u$/, '')] : [key, plainPatterns(value)],
  );
  return Object.fromEntries(entries) as unknown;
}

function toRoute(operation: Operation): RouteConfig {
  const { method, path, id, tag, summary, description, params, query, headers, body, answers } = operation;
  const isPublic = tag === 'operations';
  return {
    method,
    path,
    operationId: id,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    ...(!isPublic && { security: [{ apiKey: [] }, {}] }),
    request: { params, query, headers, ...(body && { body: { required: true, content: contentOf(body) } }) },
    responses: {
      ...Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, toResponse(answer)])),
      ...problemResponses(isPublic ? operation.problems : [...operation.problems, ...COMMON_PROBLEMS], answers),
    },
  };
}

function toResponse({ description, body, headers = {} }: Operation['answers'][number]): Responses[string] {
  const named = Object.entries(headers).map(([name, text]) => [
    name,
    { description: text, schema: { type: 'string' as const } },
  ]);
  return {
    description,
    ...(body && { content: contentOf(body) }),
    ...(named.length > 0 && { headers: Object.fromEntries(named) }),
  };
}

function contentOf({ schema, mediaTypes = ['application/json'], examples }: Body): Content {
  const named = examples && Object.fromEntries(Object.entries(examples).map(([name, value]) => [name, { value }]));
  return Object.fromEntries(mediaTypes.map((type) => [type, { schema, ...(named && { examples: named }) }]));
}

/** One response per status, saying which codes it stands for. */
function problemResponses(codes: readonly ErrorCode[], answers: Operation['answers']): Responses {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of new Set(codes)) {
    const { status } = ERROR_TABLE[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const entries = [...byStatus].sort(([a], [b]) => a - b).filter(([status]) => !(status in answers));
  return Object.fromEntries(
    entries.map(([status, list]) => [
      status,
      {
        description: list.map((code) => `\`${code}\`: ${ERROR_TABLE[code].title}`).join('\n\n'),
        content: { 'application/problem+json': { schema: problemSchema } },
        ...(status === 429 && { headers: { 'Retry-After': { description: 'Seconds.', schema: { type: 'integer' } } } }),
      },
    ]),
  ) as Responses;
}

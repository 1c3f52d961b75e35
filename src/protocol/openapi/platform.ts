/** Health, metrics and this document: public, outside /v1. */
import { z } from 'zod';
import { json, type Body, type Operation } from './operation';

const text = (mediaType: string): Body => ({ schema: z.string(), mediaTypes: [mediaType] });

const readiness = z.object({
  ready: z.boolean(),
  draining: z.boolean(),
  temporal: z.enum(['ok', 'unreachable']),
  registry: z.object({ connected: z.boolean(), last_sync_age_ms: z.number() }),
});

/** Operations for those who run the gateway. */
export const PLATFORM_OPERATIONS: Operation[] = [
  {
    method: 'get',
    path: '/healthz',
    id: 'health',
    tag: 'operations',
    summary: 'The process is alive',
    answers: { 200: { description: 'Alive', body: json(z.object({ status: z.literal('ok') })) } },
    problems: [],
  },
  {
    method: 'get',
    path: '/readyz',
    id: 'readiness',
    tag: 'operations',
    summary: 'Reaches can be accepted',
    answers: {
      200: { description: 'Ready', body: json(readiness) },
      503: { description: 'Not ready; the report says which part', body: json(readiness) },
    },
    problems: [],
  },
  {
    method: 'get',
    path: '/metrics',
    id: 'metrics',
    tag: 'operations',
    summary: 'Prometheus metrics',
    answers: { 200: { description: 'Text exposition', body: text('text/plain') } },
    problems: [],
  },
  {
    method: 'get',
    path: '/openapi.json',
    id: 'openapi',
    tag: 'operations',
    summary: 'This document',
    answers: { 200: { description: 'OpenAPI 3.1', body: json(z.looseObject({ openapi: z.string() })) } },
    problems: [],
  },
  {
    method: 'get',
    path: '/docs',
    id: 'docs',
    tag: 'operations',
    summary: 'This document to read and try',
    answers: { 200: { description: 'HTML', body: text('text/html') } },
    problems: [],
  },
];

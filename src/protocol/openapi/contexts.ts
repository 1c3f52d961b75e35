/** `/v1/contexts/{id}`: the Context Store. */
import { z } from 'zod';
import {
  contextIdSchema,
  contextPatchedSchema,
  contextPatchSchema,
  contextQuerySchema,
  contextSchema,
} from '../context';
import { BODY_PROBLEMS, json, type Operation } from './operation';

const params = z.object({ id: contextIdSchema });
const path = '/v1/contexts/{id}';
const stamp = { updated_at: '2026-05-04T08:30:00.000Z', updated_by: 'api-key' };

/** Operations on shared contexts (R32). */
export const CONTEXT_OPERATIONS: Operation[] = [
  {
    method: 'get',
    path,
    id: 'getContext',
    tag: 'contexts',
    summary: 'Read a context',
    description:
      'One linearizable read: it sees every write that was answered before. Large values are sent as they are kept, piece by piece.',
    params,
    query: contextQuerySchema,
    answers: {
      200: {
        description: 'The fields with their versions',
        body: json(contextSchema, {
          ticket: {
            context_id: 'ticket-4711',
            fields: {
              customer: { value: { id: 'c-17' }, version: 4711, ...stamp },
              log: { value: ['asked for a refund'], version: 4713, ...stamp },
            },
          },
        }),
      },
    },
    problems: ['invalid_request', 'not_found'],
  },
  {
    method: 'patch',
    path,
    id: 'patchContext',
    tag: 'contexts',
    summary: 'Write fields of a context, all or nothing',
    description:
      'Each set and delete names the version of the field that it was made from. If any field is at another version, nothing is written and `conflicts` has what each of them is now. An append puts one value at the end of a list and makes the list if there is none; it conflicts only if it names a version. A value may be as large as `payloads.max_bytes`, and the body 64 KiB larger. After a 503 the write may have happened: read the context before you repeat it.',
    params,
    body: json(contextPatchSchema, {
      create: { operations: [{ op: 'set', field: 'customer', value: { id: 'c-17' }, base_version: 0 }] },
      batch: {
        operations: [
          { op: 'set', field: 'customer', value: { id: 'c-18' }, base_version: 4711 },
          { op: 'append', field: 'log', value: 'asked for a refund' },
          { op: 'delete', field: 'draft', base_version: 4709 },
        ],
      },
    }),
    answers: {
      200: {
        description: 'What was written, with the new versions',
        body: json(contextPatchedSchema, {
          batch: {
            context_id: 'ticket-4711',
            fields: {
              customer: { value: { id: 'c-18' }, version: 4715, ...stamp },
              log: { version: 4715, ...stamp },
            },
            deleted: ['draft'],
          },
        }),
      },
    },
    problems: [...BODY_PROBLEMS, 'context_conflict', 'storage_full'],
  },
  {
    method: 'delete',
    path,
    id: 'deleteContext',
    tag: 'contexts',
    summary: 'Delete a context with all its fields',
    description: 'Versions go on where they were if it is written to again.',
    params,
    answers: { 204: { description: 'It is gone', body: null } },
    problems: ['invalid_request', 'not_found'],
  },
];

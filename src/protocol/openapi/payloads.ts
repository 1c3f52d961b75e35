/** `/v1/payloads`: large payloads, uploaded in chunks (R8). */
import { z } from 'zod';
import { jsonObjectSchema } from '../envelope';
import { chunkReceiptSchema, uploadCompletionSchema, uploadReceiptSchema, uploadStateSchema } from '../payload-upload';
import { BODY_PROBLEMS, json, type Operation } from './operation';

const messageId = z.string().min(1).max(128).meta({
  description: 'The message id under which the chunks are collected; one upload each.',
  example: '018f3a5e-7c2b-7d11-9a4e-1b2c3d4e5f60',
});
const sequence = z.string().meta({ description: 'Number of the chunk, from 0 or from 1, without gaps.', example: '0' });
const chunk = z.string().meta({ format: 'binary', description: 'At most 262,144 bytes.' });

/** Operations on uploads and their contents. */
export const PAYLOAD_OPERATIONS: Operation[] = [
  {
    method: 'put',
    path: '/v1/payloads/{message_id}/chunks/{sequence}',
    id: 'putChunk',
    tag: 'payloads',
    summary: 'Upload one chunk',
    description:
      'In any order, and again whenever an answer is lost: the same content changes nothing, other content is refused. Also as POST.',
    params: z.object({ message_id: messageId, sequence }),
    body: { schema: chunk, mediaTypes: ['application/octet-stream'] },
    answers: { 200: { description: 'It is there', body: json(chunkReceiptSchema) } },
    problems: ['invalid_request', 'payload_too_large', 'storage_full', 'reach_terminal'],
  },
  {
    method: 'post',
    path: '/v1/payloads/{message_id}:complete',
    id: 'completeUpload',
    tag: 'payloads',
    summary: 'Make one payload of the chunks',
    description:
      'All chunks must be there, fit the checksum, and be a JSON object under the rules of bodies. Send the reference as `payload_ref` of an envelope. Again answers the same.',
    params: z.object({ message_id: messageId }),
    body: json(uploadCompletionSchema, { upload: { chunks: 96, sha256: `${'0'.repeat(60)}cafe` } }),
    answers: { 200: { description: 'The reference', body: json(uploadReceiptSchema) } },
    problems: [...BODY_PROBLEMS, 'not_found', 'storage_full', 'reach_terminal'],
  },
  {
    method: 'get',
    path: '/v1/payloads/{message_id}',
    id: 'getPayload',
    tag: 'payloads',
    summary: 'See how far an upload is, or get the content of a reference',
    description:
      'With a message id: which chunks are there. With a reference (`sha256:…`) such as a `payload_ref` or an `output_ref`: the JSON object itself.',
    params: z.object({ message_id: messageId }),
    answers: {
      200: {
        description: 'The state of the upload, or the content',
        body: json(z.union([uploadStateSchema, jsonObjectSchema])),
      },
    },
    problems: ['invalid_request', 'not_found'],
  },
  {
    method: 'delete',
    path: '/v1/payloads/{message_id}',
    id: 'discardUpload',
    tag: 'payloads',
    summary: 'Drop an upload',
    description: 'The chunks so far. What was completed stays.',
    params: z.object({ message_id: messageId }),
    answers: { 204: { description: 'Nothing of it is left', body: null } },
    problems: ['invalid_request'],
  },
];

/** Bodies and answers of `/v1/payloads` (R8), and the source of their OpenAPI description. */
import { z } from 'zod';

/** The message id under which chunks are collected. */
export const payloadMessageIdSchema = z
  .string()
  .min(1)
  .max(128)
  .regex(/^[^\p{Cc}]*$/u, 'must not contain control characters');

/** The number of a chunk, from a path: from 0 or from 1, without gaps. */
export const sequenceSchema = z
  .string()
  .regex(/^(0|[1-9]\d{0,8})$/, 'must be a whole number from 0')
  .transform(Number);

/** Body of `POST /v1/payloads/{message_id}:complete`. */
export const uploadCompletionSchema = z
  .strictObject({
    chunks: z.number().int().min(1).max(1_000_000).meta({ description: 'How many were uploaded.' }),
    sha256: z
      .string()
      .regex(/^[0-9a-fA-F]{64}$/, 'must be 64 hex digits')
      .transform((text) => text.toLowerCase())
      .meta({ description: 'Of all chunks together, in order.' }),
  })
  .meta({ id: 'UploadCompletion' });

const ref = z.string().meta({ example: `sha256:${'0'.repeat(60)}cafe:26214400` });
const messageId = z.string();

/** Answer to a chunk. */
export const chunkReceiptSchema = z
  .object({
    message_id: messageId,
    sequence: z.number().int(),
    bytes: z.number().int(),
    replayed: z.boolean().meta({ description: 'It was there already, with the same content.' }),
  })
  .meta({ id: 'ChunkReceipt' });

/** Answer to `:complete`. */
export const uploadReceiptSchema = z
  .object({ message_id: messageId, payload_ref: ref, bytes: z.number().int() })
  .meta({ id: 'UploadReceipt' });

/** `GET /v1/payloads/{message_id}`. */
export const uploadStateSchema = z
  .object({
    message_id: messageId,
    chunks: z.array(z.object({ sequence: z.number().int(), bytes: z.number().int() })),
    bytes: z.number().int(),
    payload_ref: ref.optional().meta({ description: 'Once it was completed.' }),
  })
  .meta({ id: 'UploadState' });

/** An operation of the HTTP API as data; the document is built from lists of these. */
import type { z } from 'zod';
import { envelopeSchema } from '../envelope';
import type { ErrorCode } from '../error-codes';

/** A body: its schema by media type, and examples by name. */
export interface Body {
  schema: z.ZodType;
  /** Default `application/json` alone. */
  mediaTypes?: readonly string[];
  examples?: Record<string, unknown>;
}

/** One operation. Every one of `/v1` may also answer 401 and the failures of the platform. */
export interface Operation {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  path: string;
  id: string;
  tag: 'reaches' | 'payloads' | 'contexts' | 'events' | 'agents' | 'abilities' | 'operations';
  summary: string;
  description?: string;
  params?: z.ZodObject;
  query?: z.ZodObject;
  headers?: z.ZodObject;
  body?: Body;
  /** By status; a body of null has none. */
  answers: Record<number, { description: string; body: Body | null; headers?: Record<string, string> }>;
  /** Codes of the problem documents it may answer. */
  problems: readonly ErrorCode[];
}

/** A JSON body with named examples. */
export const json = (schema: z.ZodType, named?: Record<string, unknown>): Body => ({ schema, examples: named });

/** Codes of any operation that reads a body. */
export const BODY_PROBLEMS = [
  'invalid_request',
  'duplicate_key',
  'input_too_deep',
  'forbidden_key',
  'unsupported_media_type',
  'payload_too_large',
] as const;

/** The envelope under its name in the document. */
export const envelopeDocument = envelopeSchema.meta({ id: 'Envelope' });

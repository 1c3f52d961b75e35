import { defaultPayloadConverter } from '@temporalio/common';

interface RawAttributes {
  indexedFields?: Record<string, { metadata?: Record<string, Uint8Array> | null; data?: Uint8Array | null }> | null;
}

/** The keyword search attributes of an execution as plain strings; lists give their first value. */
export function decodeSearchAttributes(raw: RawAttributes | null | undefined): Partial<Record<string, string>> {
  const entries = Object.entries(raw?.indexedFields ?? {}).map(([name, payload]) => {
    const value = defaultPayloadConverter.fromPayload<unknown>(payload);
    const first: unknown = Array.isArray(value) ? value[0] : value;
    return [name, typeof first === 'string' ? first : undefined] as const;
  });
  return Object.fromEntries(entries);
}

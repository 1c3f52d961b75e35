import { createColors } from 'picocolors';
import { z } from 'zod';
import { ReachError, type FieldError } from '../../protocol/reach-error';
import { validate } from '../../protocol/validation';
import { renderError } from './error';
import { saidOnce } from './findings';

const COLOR = createColors(false);

function refusedBy(schema: z.ZodType, value: unknown): ReachError {
  try {
    validate(schema, value);
  } catch (caught) {
    return ReachError.from(caught);
  }
  throw new Error('it was valid');
}

const lines = (error: ReachError) => renderError(error, COLOR).trimEnd().split('\n');

it('says each finding once, with its place and how to mend it', () => {
  const schema = z.strictObject({ timeout_ms: z.number(), mode: z.enum(['sync', 'async']) });
  expect(lines(refusedBy(schema, { timeout_ms: '5', mode: 'snyc' }))).toEqual([
    '✗ invalid_request  The request is not valid',
    '  /timeout_ms  must be a number (got text "5")',
    '  /mode  must be one of "sync", "async" (got text "snyc") – did you mean sync?',
  ]);
});

it('counts what the problem does not list', () => {
  const schema = z.array(z.number());
  const told = lines(refusedBy(schema, new Array<string>(60).fill('x')));
  expect(told[0]).toBe('✗ invalid_request  The request is not valid');
  expect(told.slice(1, 3)).toEqual(['  /0  must be a number (got text "x")', '  /1  must be a number (got text "x")']);
  expect(told).toHaveLength(52);
  expect(told.at(-1)).toBe('  and 10 more');
});

it('leaves a finding about the whole where it is', () => {
  expect(lines(refusedBy(z.strictObject({}), 5))).toEqual([
    '✗ invalid_request  the body must be an object (got number 5)',
  ]);
});

const finding: FieldError = { pointer: '/pages', message: 'is missing', fix: 'add it' };

it.each([
  ['/pages is missing; add it', finding, 'The request is not valid'],
  ['pages: is missing', finding, 'The request is not valid'],
  ['/pages is missing, add it; /lines is missing', finding, '/lines is missing'],
  // What is quoted stands in a sentence.
  [
    'the payload does not match the input schema of ocr (reader): /pages is missing (and 2 more); GET /v1/abilities/ocr shows it',
    finding,
    'the payload does not match the input schema of ocr (reader); GET /v1/abilities/ocr shows it',
  ],
  // A sentence that is the same without its place.
  [
    'The batch would need more room than there is; write less',
    { pointer: '/operations', message: 'The batch would need more room than there is', fix: 'write less' },
    'The request is not valid',
  ],
  // Another sentence about the same.
  ['/pages is missing too', { pointer: '/a', message: 'is missing' }, '/pages is missing too'],
  [
    'the cursor is bad (see the docs)',
    { pointer: '/cursor', message: 'is not valid' },
    'the cursor is bad (see the docs)',
  ],
])('%s', (message, found, headline) => {
  expect(saidOnce('invalid_request', message, [found])).toMatchObject({ headline, listed: [found] });
});

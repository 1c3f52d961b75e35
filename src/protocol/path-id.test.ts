import { contextIdSchema } from './context';
import { envelopeSchema } from './envelope';
import { assertPathId } from './path-id-check';

const terms = { what: 'the id', example: 'a-1' };

it.each(['.', '..'])('%s is no id: no client can ask for it', (id) => {
  expect(() => assertPathId(id, terms)).toThrow(
    expect.objectContaining({
      code: 'invalid_request',
      options: { errors: [expect.objectContaining({ pointer: '/id', fix: expect.stringContaining('a-1') })] },
    }),
  );
  expect(new URL(`/v1/contexts/${encodeURIComponent(id)}`, 'http://h').pathname).not.toContain(`contexts/${id}`);
  const { error } = envelopeSchema.safeParse({ ability: 'a', payload: {}, context_id: id });
  expect(error!.issues.map(({ path }) => path)).toEqual([['context_id']]);
});

it.each(['...', '.a', 'a..', '. ', '工单/..'])('%s is one', (id) => {
  expect(() => assertPathId(id, terms)).not.toThrow();
  expect(contextIdSchema.safeParse(id).success).toBe(true);
  expect(envelopeSchema.safeParse({ ability: 'a', payload: {}, context_id: id }).success).toBe(true);
});
